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
  jobsRead,
  jobsReplay,
  jobsSteps,
  type JobStep,
  type JobStepList,
  type LaunchJobBody,
} from '../generated';
import { logOfJob, type LogOptions } from '../follow-log';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';
import { waitForJob, type WaitOptions } from '../wait-for-job';

/** Runs of workflows. */
export class Jobs extends Resource {
  launch(body: LaunchJobBody, call?: CallOptions) {
    return jobsLaunch({ ...this.with(call), body });
  }

  get(id: string, call?: CallOptions): Promise<Job> {
    return jobsRead({ ...this.with(call), path: { id } });
  }

  /** Its end, whatever it is: look at `status`. */
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

  /** What it has said; with `follow` also what it says until its end. */
  logs(id: string, options?: LogOptions) {
    return logOfJob(this.client, id, options);
  }

  cancel(id: string, reason?: string, call?: CallOptions) {
    return jobsCancel({ ...this.with(call), path: { id }, body: reason === undefined ? {} : { reason } });
  }

  /** At most 1,000 at once, oldest first. */
  cancelMany(body: CancelJobsBody, call?: CallOptions) {
    return jobsCancelMany({ ...this.with(call), body });
  }

  /** The same again, as a new run. */
  replay(id: string, call?: CallOptions) {
    return jobsReplay({ ...this.with(call), path: { id } });
  }

  cost(id: string, call?: CallOptions) {
    return costsOfJob({ ...this.with(call), path: { id } });
  }

  /** With all that was kept of it; takes a session. */
  delete(id: string, call?: CallOptions) {
    return jobsDelete({ ...this.with(call), path: { id } });
  }
}
