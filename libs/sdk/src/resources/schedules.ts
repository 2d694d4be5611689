import {
  type CreateScheduleBody,
  type ExecuteSchedulesBody,
  type PreviewScheduleBody,
  type Schedule,
  type ScheduleList,
  schedulesCreate,
  schedulesDelete,
  schedulesExecute,
  schedulesList,
  schedulesPreview,
  schedulesPreviewAny,
  schedulesRead,
  schedulesUpdate,
  type UpdateScheduleBody,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Schedules, which run workflows at the times of a cron expression. */
export class Schedules extends Resource {
  list(
    query: { agentId?: string; scriptId?: string; limit?: number } = {},
    call?: CallOptions,
  ): List<Schedule, ScheduleList> {
    return new List(
      (page) => schedulesList({ ...this.with(call), query: { ...query, ...page } }),
      ({ schedules }) => schedules,
    );
  }

  /** Returns a schedule with its recent runs. */
  get(id: string, call?: CallOptions) {
    return schedulesRead({ ...this.with(call), path: { id } });
  }

  create(body: CreateScheduleBody, call?: CallOptions) {
    return schedulesCreate({ ...this.with(call), body });
  }

  update(id: string, body: UpdateScheduleBody, call?: CallOptions) {
    return schedulesUpdate({ ...this.with(call), path: { id }, body });
  }

  pause(id: string, call?: CallOptions) {
    return this.update(id, { enabled: false }, call);
  }

  resume(id: string, call?: CallOptions) {
    return this.update(id, { enabled: true }, call);
  }

  /** Disables a schedule, or deletes it permanently if `hard` is set. */
  delete(id: string, { hard, ...call }: CallOptions & { hard?: boolean } = {}) {
    return schedulesDelete({ ...this.with(call), path: { id }, query: hard ? { hard: 'true' } : {} });
  }

  /** Returns the next run times of a schedule. */
  preview(id: string, count?: number, call?: CallOptions) {
    return schedulesPreview({ ...this.with(call), path: { id }, query: count === undefined ? {} : { count } });
  }

  /** Returns the run times of a cron expression without creating a schedule. */
  previewAny(body: PreviewScheduleBody, call?: CallOptions) {
    return schedulesPreviewAny({ ...this.with(call), body });
  }

  /** Runs all due schedules, or only `scheduleId`. With `force`, runs it even if it is not due. */
  execute(body: ExecuteSchedulesBody = {}, call?: CallOptions) {
    return schedulesExecute({ ...this.with(call), body });
  }
}
