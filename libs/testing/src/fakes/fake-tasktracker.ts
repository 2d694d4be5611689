import {
  type Answered,
  createAnswer,
  checks,
  requireFields,
  requireHeaders,
  requireQuery,
  type TrackerCall,
  WireFault,
} from './tracker-wire';

export interface FakeTask {
  id: string;
  /** Id that users of ClickUp see. Routes accept it only with `custom_task_ids`. */
  custom_id: string;
  url: string;
  name: string;
  description: string;
  tags: string[];
  status: { status: string; type: string };
  date_created: string;
  date_updated: string;
  date_closed: string | null;
  date_done: string | null;
}

const listStatuses = [
  { status: 'to do', type: 'open' },
  { status: 'doing', type: 'custom' },
  { status: 'ready', type: 'done' },
  { status: 'complete', type: 'closed' },
];
const list = '/api/v2/list/901';
const pageSize = 3;
const isTrueOrFalse = checks.oneOf('true', 'false');
const taskFields = {
  name: checks.text(2000),
  description: checks.text(100_000),
  status: checks.oneOf(...listStatuses.map(({ status }) => status)),
};

/** A fake of ClickUp's REST API, as far as the synchronization of feedback uses it. */
export class FakeTasktracker {
  readonly tasks: FakeTask[] = [];

  constructor(private readonly now: () => Date) {}

  /** Changes the status of a task like a user of ClickUp. */
  changeTaskStatus(task: FakeTask, name: string, at?: Date): void {
    const now = String((at ?? this.now()).getTime());
    const status = listStatuses.find((each) => each.status === name);
    if (!status) throw new Error(`no status ${name}`);
    const isOver = status.type === 'done' || status.type === 'closed';
    Object.assign(task, {
      status,
      date_updated: now,
      date_done: isOver ? now : null,
      date_closed: status.type === 'closed' ? now : null,
    });
  }

  answerRequest(call: TrackerCall, url: URL): Answered {
    if (call.headers.authorization !== 'tasktracker-token') {
      return createAnswer(401, { err: 'Token invalid', ECODE: 'OAUTH_025' });
    }
    requireHeaders(call, { accept: 'application/json' });
    const { method, body } = call;
    const { pathname } = url;
    if (pathname === list && method === 'GET') {
      requireQuery(url, {});
      return createAnswer(200, { id: '901', name: 'Feedback', statuses: listStatuses });
    }
    if (pathname === `${list}/task` && method === 'GET') return this.listTasks(url);
    if (pathname === `${list}/task` && method === 'POST') return this.makeTask(body);
    const [, id] = /^\/api\/v2\/task\/([\w-]+)$/.exec(pathname) ?? [];
    if (!id) throw new WireFault('no such route');
    return this.answerTaskRequest(call, url, id);
  }

  private listTasks(url: URL): Answered {
    requireQuery(
      url,
      {
        ...{ page: checks.integer(0, 10_000), order_by: checks.oneOf('id', 'created', 'updated', 'due_date') },
        ...{ include_closed: isTrueOrFalse, subtasks: isTrueOrFalse, reverse: isTrueOrFalse },
        date_created_gt: checks.integer(1_000_000_000_000, 9_999_999_999_999),
      },
      ['page'],
    );
    const { searchParams } = url;
    const page = Number(searchParams.get('page'));
    const since = Number(searchParams.get('date_created_gt') ?? 0);
    const all = this.tasks
      .filter((task) => Number(task.date_created) > since)
      .filter(({ status }) => searchParams.get('include_closed') === 'true' || status.type !== 'closed')
      .toReversed();
    const tasks = all.slice(page * pageSize, (page + 1) * pageSize).map(presentTask);
    return createAnswer(200, { tasks, last_page: all.length <= (page + 1) * pageSize });
  }

  private makeTask(body: any): Answered {
    const fields = { ...taskFields, tags: checks.texts(100), assignees: checks.numbers };
    requireFields(body, fields, ['name', 'description', 'tags']);
    const now = String(this.now().getTime());
    const number = this.tasks.length + 1;
    const { name, description, tags } = body;
    const task: FakeTask = {
      ...{ id: `86c${number}`, custom_id: `MUS-${number}`, url: `https://tasks.test/t/86c${number}` },
      ...{ name, description, tags, status: listStatuses[0]! },
      ...{ date_created: now, date_updated: now, date_closed: null, date_done: null },
    };
    this.tasks.push(task);
    return createAnswer(200, presentTask(task));
  }

  private answerTaskRequest({ method, body }: TrackerCall, url: URL, id: string): Answered {
    requireQuery(url, { custom_task_ids: isTrueOrFalse, team_id: checks.integer(1, 1e9) });
    const isCustom = url.searchParams.get('custom_task_ids') === 'true' && url.searchParams.has('team_id');
    const task = this.tasks.find((each) => (isCustom ? each.custom_id : each.id) === id);
    if (!isCustom && this.tasks.some((each) => each.custom_id === id))
      throw new WireFault('a custom id needs custom_task_ids and team_id');
    if (!task) return createAnswer(404, { err: 'Task not found, deleted', ECODE: 'ITEM_013' });
    if (method === 'PUT') {
      requireFields(body, taskFields);
      if (body.description !== undefined) task.description = body.description;
      if (body.status !== undefined && body.status !== task.status.status) this.changeTaskStatus(task, body.status);
    } else if (method !== 'GET') throw new WireFault('no such route');
    return createAnswer(200, presentTask(task));
  }
}

function presentTask(task: FakeTask): object {
  const tags = task.tags.map((name) => ({ name }));
  return { ...task, tags, text_content: task.description, list: { id: '901' }, assignees: [] };
}
