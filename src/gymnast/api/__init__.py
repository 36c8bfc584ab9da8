"""Everything the command line does, from Python, as typed data.

>>> from gymnast import api
>>> run = api.train("CartPole-v1:ppo", overrides={"seed": 3})
>>> api.evaluate(f"{run.id}/@best", episodes=100).mean_return

A name is imported when it is first used, so importing this package costs next to nothing. A new use-case is
a function in one of the modules, one line in `_PUBLIC` and one below `TYPE_CHECKING`. No public name may be
that of a module here: importing the module would replace it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnast.api.actors import create_actor_token as create_actor_token
    from gymnast.api.actors import serve_actors as serve_actors
    from gymnast.api.archiving import ArchivedRun as ArchivedRun
    from gymnast.api.archiving import ArrivedRun as ArrivedRun
    from gymnast.api.archiving import PackedRun as PackedRun
    from gymnast.api.archiving import archive_run as archive_run
    from gymnast.api.archiving import pack_run as pack_run
    from gymnast.api.archiving import sync_to_wandb as sync_to_wandb
    from gymnast.api.archiving import unpack_run as unpack_run
    from gymnast.api.audit import PlayedSoFar as PlayedSoFar
    from gymnast.api.audit import RewardAudit as RewardAudit
    from gymnast.api.audit import audit_env_rewards as audit_env_rewards
    from gymnast.api.audit import audit_run_rewards as audit_run_rewards
    from gymnast.api.audit import audit_text as audit_text
    from gymnast.api.audit import names_a_run as names_a_run
    from gymnast.api.autotuning import Tuned as Tuned
    from gymnast.api.autotuning import TuningAdvice as TuningAdvice
    from gymnast.api.autotuning import autotune as autotune
    from gymnast.api.autotuning import find_autotune as find_autotune
    from gymnast.api.autotuning import resume_autotune as resume_autotune
    from gymnast.api.autotuning import tuning_advice as tuning_advice
    from gymnast.api.compare import Comparison as Comparison
    from gymnast.api.compare import check_picture_file as check_picture_file
    from gymnast.api.compare import compare_runs as compare_runs
    from gymnast.api.compare import comparison_picture as comparison_picture
    from gymnast.api.compare import comparison_text as comparison_text
    from gymnast.api.compare import save_comparison_picture as save_comparison_picture
    from gymnast.api.completion import complete_reference as complete_reference
    from gymnast.api.completion import complete_run as complete_run
    from gymnast.api.config import ConfigKey as ConfigKey
    from gymnast.api.config import FormattedFile as FormattedFile
    from gymnast.api.config import ShownConfig as ShownConfig
    from gymnast.api.config import Validation as Validation
    from gymnast.api.config import config_keys as config_keys
    from gymnast.api.config import format_configs as format_configs
    from gymnast.api.config import settings_page as settings_page
    from gymnast.api.config import show_config as show_config
    from gymnast.api.config import validate_configs as validate_configs
    from gymnast.api.control import NotAnswered as NotAnswered
    from gymnast.api.control import checkpoint_run as checkpoint_run
    from gymnast.api.control import evaluate_run as evaluate_run
    from gymnast.api.control import pause_run as pause_run
    from gymnast.api.control import resume_paused_run as resume_paused_run
    from gymnast.api.control import run_state as run_state
    from gymnast.api.control import stop_run as stop_run
    from gymnast.api.control import watch_run as watch_run
    from gymnast.api.detached import DetachedRun as DetachedRun
    from gymnast.api.detached import start_detached as start_detached
    from gymnast.api.diagnosis import Alert as Alert
    from gymnast.api.diagnosis import AlertRule as AlertRule
    from gymnast.api.diagnosis import Diagnosis as Diagnosis
    from gymnast.api.diagnosis import alert_page as alert_page
    from gymnast.api.diagnosis import alert_pages as alert_pages
    from gymnast.api.diagnosis import diagnose as diagnose
    from gymnast.api.diagnosis import diagnose_folder as diagnose_folder
    from gymnast.api.diagnosis import list_rules as list_rules
    from gymnast.api.distributions import Distributions as Distributions
    from gymnast.api.distributions import distribution_pictures as distribution_pictures
    from gymnast.api.distributions import read_distributions as read_distributions
    from gymnast.api.doctor import PROBE_TITLES as PROBE_TITLES
    from gymnast.api.doctor import Examination as Examination
    from gymnast.api.doctor import Finding as Finding
    from gymnast.api.doctor import ProbeResult as ProbeResult
    from gymnast.api.doctor import examine as examine
    from gymnast.api.doctor import examine_algorithms as examine_algorithms
    from gymnast.api.envs import EnvEntry as EnvEntry
    from gymnast.api.envs import Wrapper as Wrapper
    from gymnast.api.envs import WrapperArgument as WrapperArgument
    from gymnast.api.envs import families_not_installed as families_not_installed
    from gymnast.api.envs import list_envs as list_envs
    from gymnast.api.envs import list_wrappers as list_wrappers
    from gymnast.api.evaluation import Evaluation as Evaluation
    from gymnast.api.evaluation import TaskEvaluation as TaskEvaluation
    from gymnast.api.evaluation import evaluate as evaluate
    from gymnast.api.extend import Adjust as Adjust
    from gymnast.api.extend import Command as Command
    from gymnast.api.extend import Episode as Episode
    from gymnast.api.extend import Hook as Hook
    from gymnast.api.extend import Outcome as Outcome
    from gymnast.api.extend import Report as Report
    from gymnast.api.extend import RunHeader as RunHeader
    from gymnast.api.extend import Sink as Sink
    from gymnast.api.extend import Stop as Stop
    from gymnast.api.insight import dead_units as dead_units
    from gymnast.api.insight import exciting_patches as exciting_patches
    from gymnast.api.insight import grad_cam as grad_cam
    from gymnast.api.insight import insight_answer as insight_answer
    from gymnast.api.insight import integrated_gradients as integrated_gradients
    from gymnast.api.insight import layer_activations as layer_activations
    from gymnast.api.insight import look_inside as look_inside
    from gymnast.api.insight import memory_states as memory_states
    from gymnast.api.insight import occlusion as occlusion
    from gymnast.api.insight import what_can_be_seen as what_can_be_seen
    from gymnast.api.inspection import RunDetails as RunDetails
    from gymnast.api.inspection import RunMetrics as RunMetrics
    from gymnast.api.inspection import metrics_position as metrics_position
    from gymnast.api.inspection import metrics_since as metrics_since
    from gymnast.api.inspection import run_details as run_details
    from gymnast.api.inspection import run_videos as run_videos
    from gymnast.api.inspector import inspect_runs as inspect_runs
    from gymnast.api.inspector import inspector_server as inspector_server
    from gymnast.api.jobs import Job as Job
    from gymnast.api.jobs import job_address as job_address
    from gymnast.api.jobs import job_sweep as job_sweep
    from gymnast.api.jobs import list_jobs as list_jobs
    from gymnast.api.jobs import read_job as read_job
    from gymnast.api.jobs import start_job as start_job
    from gymnast.api.jobs import stop_job as stop_job
    from gymnast.api.logs import LogPage as LogPage
    from gymnast.api.logs import read_log as read_log
    from gymnast.api.metrics import MetricSpec as MetricSpec
    from gymnast.api.metrics import list_metrics as list_metrics
    from gymnast.api.metrics import metric_bounds as metric_bounds
    from gymnast.api.metrics import metrics_page as metrics_page
    from gymnast.api.networks import Network as Network
    from gymnast.api.networks import NetworkNode as NetworkNode
    from gymnast.api.networks import describe_network as describe_network
    from gymnast.api.networks import load_policy as load_policy
    from gymnast.api.networks import load_task_policy as load_task_policy
    from gymnast.api.outside import check_changes as check_changes
    from gymnast.api.outside import check_loads as check_loads
    from gymnast.api.outside import check_outside_config as check_outside_config
    from gymnast.api.outside import check_reference as check_reference
    from gymnast.api.outside import check_settings as check_settings
    from gymnast.api.outside import outside_checkpoint as outside_checkpoint
    from gymnast.api.outside import outside_run as outside_run
    from gymnast.api.playing import PlayedEpisode as PlayedEpisode
    from gymnast.api.playing import PlayedGame as PlayedGame
    from gymnast.api.playing import play as play
    from gymnast.api.publishing import Publication as Publication
    from gymnast.api.publishing import publish_run as publish_run
    from gymnast.api.publishing import pull_run as pull_run
    from gymnast.api.recordings import Recording as Recording
    from gymnast.api.recordings import RecordingInfo as RecordingInfo
    from gymnast.api.recordings import delete_recording as delete_recording
    from gymnast.api.recordings import keep_recording as keep_recording
    from gymnast.api.recordings import list_recordings as list_recordings
    from gymnast.api.recordings import load_recording as load_recording
    from gymnast.api.recordings import record_checkpoint as record_checkpoint
    from gymnast.api.recordings import recording_binary as recording_binary
    from gymnast.api.recordings import recording_csv as recording_csv
    from gymnast.api.recordings import recording_info as recording_info
    from gymnast.api.remote import RemoteEntry as RemoteEntry
    from gymnast.api.remote import list_remote as list_remote
    from gymnast.api.remote import pull_remote as pull_remote
    from gymnast.api.remote import remote_logs as remote_logs
    from gymnast.api.remote import remote_run as remote_run
    from gymnast.api.remote import stop_remote as stop_remote
    from gymnast.api.remote import train_on_modal as train_on_modal
    from gymnast.api.report import RunReport as RunReport
    from gymnast.api.report import read_report as read_report
    from gymnast.api.report import read_rollout_table as read_rollout_table
    from gymnast.api.report import rollout_table as rollout_table
    from gymnast.api.report import write_report as write_report
    from gymnast.api.reviewing import Review as Review
    from gymnast.api.reviewing import ReviewBundle as ReviewBundle
    from gymnast.api.reviewing import ReviewEndpoint as ReviewEndpoint
    from gymnast.api.reviewing import ReviewFailed as ReviewFailed
    from gymnast.api.reviewing import ReviewProposal as ReviewProposal
    from gymnast.api.reviewing import ReviewStream as ReviewStream
    from gymnast.api.reviewing import review_bundle as review_bundle
    from gymnast.api.reviewing import review_endpoint as review_endpoint
    from gymnast.api.reviewing import review_runs as review_runs
    from gymnast.api.reviewing import save_review_bundle as save_review_bundle
    from gymnast.api.reviewing import stream_review as stream_review
    from gymnast.api.roms import Game as Game
    from gymnast.api.roms import GameDetails as GameDetails
    from gymnast.api.roms import ImportedRoms as ImportedRoms
    from gymnast.api.roms import count_known_games as count_known_games
    from gymnast.api.roms import import_roms as import_roms
    from gymnast.api.roms import list_games as list_games
    from gymnast.api.roms import show_game as show_game
    from gymnast.api.run import Overrides as Overrides
    from gymnast.api.run import Run as Run
    from gymnast.api.runs import RunEntry as RunEntry
    from gymnast.api.runs import RunSummary as RunSummary
    from gymnast.api.runs import best_runs as best_runs
    from gymnast.api.runs import delete_runs as delete_runs
    from gymnast.api.runs import find_run as find_run
    from gymnast.api.runs import list_runs as list_runs
    from gymnast.api.runs import runs_folder as runs_folder
    from gymnast.api.runs import show_run as show_run
    from gymnast.api.series import MetricSeries as MetricSeries
    from gymnast.api.series import match_metrics as match_metrics
    from gymnast.api.series import metric_keys as metric_keys
    from gymnast.api.series import metric_rows as metric_rows
    from gymnast.api.series import read_series as read_series
    from gymnast.api.smoke import SMOKE_STAGES as SMOKE_STAGES
    from gymnast.api.smoke import SmokeOutcome as SmokeOutcome
    from gymnast.api.smoke import SmokePreset as SmokePreset
    from gymnast.api.smoke import smoke_presets as smoke_presets
    from gymnast.api.smoke import try_presets as try_presets
    from gymnast.api.state import current_alerts as current_alerts
    from gymnast.api.state import last_metrics as last_metrics
    from gymnast.api.state import run_settings as run_settings
    from gymnast.api.suggestions import Suggestion as Suggestion
    from gymnast.api.suggestions import repeated as repeated
    from gymnast.api.suggestions import suggest_changes as suggest_changes
    from gymnast.api.sweeping import Sweep as Sweep
    from gymnast.api.sweeping import apply_sweep as apply_sweep
    from gymnast.api.sweeping import export_sweep as export_sweep
    from gymnast.api.sweeping import find_sweep as find_sweep
    from gymnast.api.sweeping import list_sweeps as list_sweeps
    from gymnast.api.sweeping import objectives as objectives
    from gymnast.api.sweeping import report_on_sweep as report_on_sweep
    from gymnast.api.sweeping import resume_sweep as resume_sweep
    from gymnast.api.sweeping import stop_sweep as stop_sweep
    from gymnast.api.sweeping import sweep as sweep
    from gymnast.api.traces import load_trace as load_trace
    from gymnast.api.traces import record_trace as record_trace
    from gymnast.api.traces import save_trace as save_trace
    from gymnast.api.traces import steps_csv as steps_csv
    from gymnast.api.traces import steps_table as steps_table
    from gymnast.api.trackers import ExportedMetrics as ExportedMetrics
    from gymnast.api.trackers import export_metrics as export_metrics
    from gymnast.api.trackers import wandb_dashboard as wandb_dashboard
    from gymnast.api.training import captured_output as captured_output
    from gymnast.api.training import parse_count as parse_count
    from gymnast.api.training import parse_duration as parse_duration
    from gymnast.api.training import place_settings as place_settings
    from gymnast.api.training import resume as resume
    from gymnast.api.training import train as train
    from gymnast.api.tuning import EnvTuning as EnvTuning
    from gymnast.api.tuning import TunedCell as TunedCell
    from gymnast.api.tuning import shown_memory as shown_memory
    from gymnast.api.tuning import tune_envs as tune_envs
    from gymnast.api.video import Video as Video
    from gymnast.api.video import progress_video as progress_video
    from gymnast.api.video import record_video as record_video

_PUBLIC: dict[str, str] = {  # module → the names it offers
    "actors": "create_actor_token serve_actors",
    "jobs": "Job job_address job_sweep list_jobs read_job start_job stop_job",
    "logs": "LogPage read_log",
    "outside": "check_changes check_loads check_outside_config check_reference check_settings"
    " outside_checkpoint outside_run",
    "series": "MetricSeries match_metrics metric_keys metric_rows read_series",
    "state": "current_alerts last_metrics run_settings",
    "suggestions": "Suggestion repeated suggest_changes",
    "training": "train resume parse_count parse_duration place_settings captured_output",
    "run": "Run Overrides",
    "runs": "RunEntry RunSummary list_runs show_run best_runs delete_runs find_run runs_folder",
    "compare": "Comparison compare_runs comparison_picture comparison_text save_comparison_picture"
    " check_picture_file",
    "completion": "complete_reference complete_run",
    "detached": "DetachedRun start_detached",
    "remote": "RemoteEntry train_on_modal list_remote remote_run remote_logs stop_remote pull_remote",
    "control": "NotAnswered stop_run pause_run resume_paused_run checkpoint_run evaluate_run watch_run"
    " run_state",
    "extend": "Hook Sink Adjust Stop Command Report Episode Outcome RunHeader",
    "evaluation": "Evaluation TaskEvaluation evaluate",
    "video": "Video record_video progress_video",
    "traces": "record_trace save_trace load_trace steps_table steps_csv",
    "recordings": "Recording RecordingInfo record_checkpoint keep_recording list_recordings load_recording"
    " recording_info delete_recording recording_binary recording_csv",
    "inspector": "inspect_runs inspector_server",
    "inspection": "RunDetails RunMetrics run_details run_videos metrics_since metrics_position",
    "networks": "Network NetworkNode describe_network load_policy load_task_policy",
    "envs": "EnvEntry Wrapper WrapperArgument list_envs families_not_installed list_wrappers",
    "autotuning": "Tuned TuningAdvice autotune find_autotune resume_autotune tuning_advice",
    "tuning": "EnvTuning TunedCell tune_envs shown_memory",
    "config": "ShownConfig Validation FormattedFile ConfigKey show_config validate_configs format_configs"
    " config_keys settings_page",
    "distributions": "Distributions read_distributions distribution_pictures",
    "playing": "PlayedEpisode PlayedGame play",
    "metrics": "MetricSpec list_metrics metric_bounds metrics_page",
    "diagnosis": "Alert AlertRule Diagnosis diagnose diagnose_folder list_rules alert_page alert_pages",
    "report": "RunReport read_report write_report rollout_table read_rollout_table",
    "reviewing": "Review ReviewBundle ReviewEndpoint ReviewFailed ReviewProposal ReviewStream review_bundle"
    " review_endpoint review_runs save_review_bundle stream_review",
    "roms": "Game GameDetails ImportedRoms import_roms list_games show_game count_known_games",
    "sweeping": "Sweep sweep resume_sweep find_sweep list_sweeps stop_sweep report_on_sweep apply_sweep"
    " export_sweep objectives",
    "trackers": "ExportedMetrics export_metrics wandb_dashboard",
    "publishing": "Publication publish_run pull_run",
    "archiving": "ArchivedRun ArrivedRun PackedRun archive_run pack_run sync_to_wandb unpack_run",
    "doctor": "PROBE_TITLES Examination Finding ProbeResult examine examine_algorithms",
    "audit": "PlayedSoFar RewardAudit audit_env_rewards audit_run_rewards audit_text names_a_run",
    "insight": "look_inside what_can_be_seen grad_cam integrated_gradients occlusion layer_activations"
    " exciting_patches memory_states dead_units insight_answer",
    "smoke": "SMOKE_STAGES SmokeOutcome SmokePreset smoke_presets try_presets",
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'gymnast.api' has no attribute {name!r}")
    value = getattr(import_module(f"gymnast.api.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)
