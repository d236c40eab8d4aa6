"""The charts under their older name, until the papers use the new one."""

from fairhaul.report.charts import *  # noqa: F403
