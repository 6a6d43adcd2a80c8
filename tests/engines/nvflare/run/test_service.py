"""What NVFlare's own process is started with. All else of it is tried with real processes, in tests/network."""

import pytest
from nvflare.apis.fl_constant import ConfigVarName, SystemConfigs
from nvflare.fuel.utils.config_service import ConfigService

from flora.engines.nvflare.run.service import ENVIRONMENT


def test_nvflare_reads_how_long_it_waits_for_a_party_that_was_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConfigService, "_var_values", {})
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    name = ConfigVarName.CLIENT_OUTCOME_WAIT_TIMEOUT
    assert ConfigService.get_float_var(name=name, conf=SystemConfigs.APPLICATION_CONF, default=900.0) == 5.0
