import {
  type CancelJobsBody,
  costsOfJob,
  type Job,
  type JobList,
  jobsCancel,
  jobsCancelMany,
  jobsDelete,
  jobsLaunch,
  jobsList,
  type JobsListData,
  jobsPreview,
  jobsRead,
  jobsReplay,
  jobsSteps,
  type JobStep,
  type JobStepList,
  type LaunchJobBody,
  type PlacementPreview,
  type PlacementPreviewBody,
} from '../generated';
import { readJobLog, type LogOptions } from '../follow-log';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';
import { waitForJob, type WaitOptions } from '../wait-for-job';

/** Runs of workflows. */
export class Jobs extends Resource {
  launch(body: LaunchJobBody, call?: CallOptions) {
    return jobsLaunch({ ...this.with(call), body });
  }

  /** Returns how many agents fit, and what would happen to a run that is launched now. Launches nothing. */
  previewPlacement(body: PlacementPreviewBody, call?: CallOptions): Promise<PlacementPreview> {
    return jobsPreview({ ...this.with(call), body });
  }

  get(id: string, call?: CallOptions): Promise<Job> {
    return jobsRead({ ...this.with(call), path: { id } });
  }

  /** Waits until the run ends. Check its `status` for the outcome. */
  wait(id: string, options?: WaitOptions): Promise<Job> {
    return waitForJob(this.client, id, options);
  }

  list(query: Omit<NonNullable<JobsListData['query']>, 'cursor'> = {}, call?: CallOptions): List<Job, JobList> {
    return new List(
      (page) => jobsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ jobs }) => jobs,
    );
  }

  steps(id: string, call?: CallOptions): List<JobStep, JobStepList> {
    return new List(
      (page) => jobsSteps({ ...this.with(call), path: { id }, query: page }),
      ({ steps }) => steps,
    );
  }

  /** Returns the log of a run, then new lines until the run ends if `follow` is set. */
  logs(id: string, options?: LogOptions) {
    return readJobLog(this.client, id, options);
  }

  cancel(id: string, reason?: string, call?: CallOptions) {
    return jobsCancel({ ...this.with(call), path: { id }, body: reason === undefined ? {} : { reason } });
  }

  /** Cancels at most 1,000 runs, oldest first. */
  cancelMany(body: CancelJobsBody, call?: CallOptions) {
    return jobsCancelMany({ ...this.with(call), body });
  }

  /** Starts a new run with the input of a run that has ended. */
  replay(id: string, call?: CallOptions) {
    return jobsReplay({ ...this.with(call), path: { id } });
  }

  cost(id: string, call?: CallOptions) {
    return costsOfJob({ ...this.with(call), path: { id } });
  }

  /** Deletes a run and all its stored data. Requires a session. */
  delete(id: string, call?: CallOptions) {
    return jobsDelete({ ...this.with(call), path: { id } });
  }
}
