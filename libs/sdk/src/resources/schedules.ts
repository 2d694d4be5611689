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

/** Workflows that run by the clock. */
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

  /** With what became of its last times. */
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

  /** Turns it off; with `hard` it is gone. */
  delete(id: string, { hard, ...call }: CallOptions & { hard?: boolean } = {}) {
    return schedulesDelete({ ...this.with(call), path: { id }, query: hard ? { hard: 'true' } : {} });
  }

  /** When it runs next. */
  preview(id: string, count?: number, call?: CallOptions) {
    return schedulesPreview({ ...this.with(call), path: { id }, query: count === undefined ? {} : { count } });
  }

  /** When one would run that is not there yet. */
  previewAny(body: PreviewScheduleBody, call?: CallOptions) {
    return schedulesPreviewAny({ ...this.with(call), body });
  }

  /** Runs what is due; one of them with `scheduleId`, and with `force` though it is not due. */
  execute(body: ExecuteSchedulesBody = {}, call?: CallOptions) {
    return schedulesExecute({ ...this.with(call), body });
  }
}
