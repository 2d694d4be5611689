import type { LargeOrganization } from './seed-large-organization';

/**
 * Returns requests for every list with each of its filters: with a common value, with a rare value, and with
 * combinations that match nothing.
 */
export function listRequests(organization: LargeOrganization, now = new Date()): string[] {
  const { agentIds, workflowIds, scheduleIds, batchId, longJobId, endpointId } = organization;
  const dayBeforeNow = (ago: number) => new Date(now.getTime() - ago * 86_400_000).toISOString();
  const dateRangeQuery = (from: number, to: number) =>
    `from=${dayBeforeNow(from).slice(0, 10)}&to=${dayBeforeNow(to).slice(0, 10)}`;
  const times = [
    `from=${dayBeforeNow(20)}&to=${dayBeforeNow(10)}`,
    `from=${dayBeforeNow(200)}&to=${dayBeforeNow(190)}`,
    `to=${dayBeforeNow(364)}`,
    `from=${dayBeforeNow(1)}`,
  ];
  const logs = `/api/agents/${agentIds.busy}/logs`;
  const listSortParameters = (...names: string[]) => names.flatMap((name) => [`sort=${name}`, `sort=-${name}`]);
  const lists: [path: string, filters: string[]][] = [
    [
      '/api/jobs',
      [
        ...['queued', 'running', 'completed', 'failed', 'cancelled'].map((status) => `status=${status}`),
        ...[agentIds.busy, agentIds.rare].map((id) => `agentId=${id}`),
        ...[workflowIds.usual, workflowIds.rare].map((id) => `workflowId=${id}`),
        ...[scheduleIds.usual, scheduleIds.rare].map((id) => `scheduleId=${id}`),
        `batchId=${batchId}`,
        ...times,
        `endedFrom=${dayBeforeNow(11)}&endedTo=${dayBeforeNow(10)}`,
        `endedFrom=${dayBeforeNow(11)}&endedTo=${dayBeforeNow(10)}&sort=-finishedAt`,
        `status=cancelled&agentId=${agentIds.busy}`,
        `status=cancelled&workflowId=${workflowIds.usual}`,
        `status=cancelled&scheduleId=${scheduleIds.usual}`,
        `status=failed&batchId=${batchId}`,
        `status=completed&workflowId=${workflowIds.rare}`,
        `agentId=${agentIds.busy}&workflowId=${workflowIds.rare}`,
        `agentId=${agentIds.busy}&scheduleId=${scheduleIds.rare}`,
        `status=cancelled&${times[0]}`,
        `workflowId=${workflowIds.rare}&${times[1]}`,
        ...['error=portal', 'error=needle', 'variable=needle', 'variable=CLAIM_ID=needle', `cause=${'0'.repeat(16)}`],
        ...['q=portal', 'q=needle', `q=${longJobId}`, `q=needle&agentId=${agentIds.busy}`],
        ...['target=usual', 'target=needle', `target=needle&agentId=${agentIds.rare}`],
        ...listSortParameters('queuedAt', 'startedAt', 'finishedAt', 'durationMs', 'totalCostUsd').flatMap((sort) => [
          sort,
          `${sort}&status=cancelled`,
          `${sort}&agentId=${agentIds.rare}`,
          `${sort}&workflowId=${workflowIds.usual}&q=needle`,
        ]),
      ],
    ],
    [
      logs,
      [
        ...['execution', 'lifecycle', 'status'].map((kind) => `kind=${kind}`),
        ...['info', 'error'].map((level) => `level=${level}`),
        'q=claim',
        'q=needle',
        `jobId=${longJobId}`,
        `jobId=${longJobId}&q=needle`,
        'order=asc',
        'q=needle&order=asc',
        ...times,
        ...times.map((period) => `${period}&order=asc`),
        `level=error&${times[0]}`,
      ],
    ],
    [
      `/api/jobs/${longJobId}/logs`,
      ['level=info', 'level=error', 'q=claim', 'q=needle', 'order=desc', 'order=desc&q=needle', times[0]!, times[3]!],
    ],
    [`/api/jobs/${longJobId}/steps`, []],
    [
      '/api/agents',
      [
        'status=online',
        'status=stopped',
        'status=offline',
        'status=terminated',
        'label=usual',
        'label=rare',
        'q=agent',
      ].concat(
        'q=needle',
        'q=needle&status=online',
        'label=rare&status=online',
        listSortParameters('name', 'status', 'lastSeen'),
      ),
    ],
    [`/api/agents/${agentIds.busy}/autopilot`, [`sessionId=${longJobId}`]],
    [
      '/api/autopilot-sessions',
      ['status=completed', 'status=paused', 'q=claim', 'q=needle', `agentId=${agentIds.busy}&q=needle`],
    ],
    [
      `/api/agents/${agentIds.busy}/command-history`,
      ['status=success', 'status=pending', 'kind=run', 'kind=imaging_composite', 'q=needle', 'status=failed&q=needle'],
    ],
    [`/api/agents/${agentIds.busy}/recordings`, ['status=kept', 'status=failed', 'q=needle', 'q=needle&status=kept']],
    [
      '/api/artifacts',
      [
        ...['file', 'video', 'image'].map((kind) => `kind=${kind}`),
        ...[agentIds.busy, agentIds.rare].map((id) => `agentId=${id}`),
        `jobId=${longJobId}`,
        `agentId=${agentIds.busy}&kind=video`,
      ],
    ],
    [
      '/api/access-log',
      [
        ...['the+key', 'rare+person', 'nobody'].map((id) => `userId=${id}`),
        ...['rare+target', longJobId, 'nothing'].map((id) => `subject=${id}`),
        ...times,
        `userId=the+key&subject=${longJobId}`,
        `userId=the+key&${times[0]}`,
      ],
    ],
    [
      '/api/audit',
      [
        ...['job.launch', 'user.update', 'never'].map((action) => `action=${action}`),
        ...['the+key', 'rare+person', 'nobody'].map((id) => `actorId=${id}`),
        ...['rare+target', longJobId, 'nothing'].map((id) => `targetId=${id}`),
        ...times,
        ...['q=launch', 'q=needle', 'q=needle&actorId=the+key'],
        'actorId=the+key&action=user.update',
        `actorId=the+key&${times[0]}`,
      ],
    ],
    [
      '/api/batches',
      [
        ...[`workflowId=${workflowIds.usual}`, `workflowId=${workflowIds.rare}`, 'q=workflow', 'q=needle'],
        ...listSortParameters('total'),
        `sort=total&workflowId=${workflowIds.rare}`,
      ],
    ],
    [
      '/api/schedules',
      [
        ...[agentIds.busy, agentIds.rare].map((id) => `agentId=${id}`),
        ...[workflowIds.usual, workflowIds.rare].map((id) => `scriptId=${id}`),
        `agentId=${agentIds.busy}&scriptId=${workflowIds.rare}`,
        'q=schedule',
        'q=needle',
        ...['enabled=true', 'enabled=false', `enabled=false&agentId=${agentIds.busy}`],
        ...listSortParameters('name', 'nextRunAt', 'lastRunAt'),
      ],
    ],
    [`/api/workflows`, ['q=workflow', 'q=needle', ...listSortParameters('name', 'updatedAt')]],
    [`/api/workflows/${workflowIds.usual}/revisions`, []],
    [
      '/api/pilot/batches',
      [
        dateRangeQuery(20, 10),
        dateRangeQuery(364, 360),
        `workflowId=${workflowIds.usual}`,
        `workflowId=${workflowIds.rare}`,
        `jobId=${longJobId}`,
        `workflowId=${workflowIds.rare}&${dateRangeQuery(20, 10)}`,
      ],
    ],
    [
      '/api/process-library/sessions',
      [dateRangeQuery(20, 10), 'workerKey=usual', 'workerKey=rare', `workerKey=rare&${dateRangeQuery(20, 10)}`],
    ],
    [
      '/api/admin/client-pricing/metrics',
      [
        `jobId=${longJobId}`,
        dateRangeQuery(20, 10),
        dateRangeQuery(364, 360),
        `organizationId=${organization.organizationId}`,
      ],
    ],
    [
      '/api/feedback-submissions',
      [
        ...['type=feature_request', 'type=bug_report', 'status=closed', 'status=received'],
        ...['status=closed&type=bug_report', dateRangeQuery(20, 10), dateRangeQuery(364, 360), times[0]!],
        ...[`status=received&${dateRangeQuery(20, 10)}`, 'q=title', 'q=needle', 'q=needle&status=closed'],
      ],
    ],
    ['/api/process-library', []],
    ['/api/workflow-packs', ['q=needle']],
    ['/api/workflow-pack-installations', [`packId=${longJobId}`]],
    ['/api/dead-letters', ['queue=dispatch', 'q=needle']],
    ['/api/users', ['q=needle']],
    ['/api/api-keys', ['q=needle']],
    ['/api/auth/sessions', []],
    ['/api/auth/passkeys', []],
    ['/api/vault', ['q=needle']],
    ['/api/webhook-endpoints', ['q=needle']],
    [`/api/webhook-endpoints/${endpointId}/deliveries`, ['status=pending', 'status=dead', 'type=job.stalled']],
    ['/api/notification-channels', ['q=needle']],
    ['/api/inbound-codes', []],
    ['/api/alerts', ['status=open', 'status=resolved', 'rule=spend']],
    ['/api/concurrency-keys', ['q=needle']],
    ['/api/accounts', ['pool=needle']],
    ['/api/accounts/account-1/uses', []],
    [
      '/api/questions',
      ['status=open', 'status=open&mine=true&order=asc', 'status=expired', 'mine=true', `jobId=${longJobId}`],
    ],
    ['/api/functions', []],
    ['/api/admin/organizations', ['q=needle']],
    ['/api/admin/usage', [`month=${dayBeforeNow(40).slice(0, 7)}`]],
    ['/api/admin/dead-letters', ['queue=dispatch', 'q=needle']],
    ['/api/admin/queue-probes', []],
  ];
  return lists.flatMap(([path, filters]) => [path, ...filters.map((filter) => `${path}?${filter}`)]);
}

/** Returns the other requests that clients send as often as requests for lists. */
export function readRequests(
  { agentIds, scheduleIds, batchId, longJobId }: LargeOrganization,
  now = new Date(),
): string[] {
  const dayBeforeNow = (ago: number) => new Date(now.getTime() - ago * 86_400_000).toISOString().slice(0, 10);
  const year = `from=${dayBeforeNow(364)}&to=${dayBeforeNow(0)}`;
  return [
    `/api/jobs/${longJobId}`,
    `/api/jobs/${longJobId}/cost`,
    `/api/job-status?jobId=${longJobId}`,
    `/api/agents/${agentIds.busy}`,
    `/api/agents/${agentIds.busy}/runs`,
    `/api/agents/${agentIds.busy}/status`,
    `/api/batches/${batchId}`,
    `/api/schedules/${scheduleIds.usual}`,
    '/api/auth/totp',
    '/api/usage',
    `/api/usage?month=${dayBeforeNow(40).slice(0, 7)}`,
    '/api/costs',
    ...['day', 'workflow', 'agent', 'schedule', 'model'].map((by) => `/api/costs?groupBy=${by}&${year}`),
    '/api/pilot/roi',
    `/api/pilot/roi?${year}`,
  ];
}
