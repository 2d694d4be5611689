import { newId } from '@muster/platform';
import { type Answer, type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

interface Agent {
  agentId: string;
  name: string;
  /** Label that only this agent has. */
  label: string;
}

/** The row of a terminated agent remains, for its history. Nothing may count it as an agent that can work. */
describe('a terminated agent', () => {
  let harness: Harness;
  let tenant: Tenant;
  let workflowId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    workflowId = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const terminate = (agentId: string) =>
    harness.db.query('system', "UPDATE agent SET status = 'terminated' WHERE id = $1", [agentId]);
  const makeScheduleFor = async (target: object): Promise<string> => {
    const body = { name: newId(), scriptId: workflowId, cronExpression: '0 6 * * *', ...target };
    const { status, body: created } = await tenant.api.post('/api/schedules', body);
    expect([status, created]).toEqual([201, expect.anything()]);
    return created.id as string;
  };
  const execute = (scheduleId: string) =>
    tenant.api.post('/api/schedules/execute', { scheduleId, force: true, dryRun: true });

  /** Returns the request. What it needs is created while the agent still exists. */
  const uses: [
    name: string,
    outcomes: [before: string, after: string],
    prepare: (agent: Agent) => Promise<() => Promise<Answer>> | (() => Promise<Answer>),
  ][] = [
    ['the list of agents', ['the agent', 'other agents'], () => () => tenant.api.get('/api/agents?limit=200')],
    [
      'the agents that feedback can refer to',
      ['the agent', 'other agents'],
      () => () => tenant.api.get('/api/feedback/agents'),
    ],
    [
      'a launch',
      ['accepted', 'agent_not_found'],
      ({ agentId }) =>
        () =>
          tenant.api.post('/api/jobs/launch', { workflowId, agentId }),
    ],
    [
      'a launch by its label',
      ['accepted', 'no_agent_fits'],
      ({ label }) =>
        () =>
          tenant.api.post('/api/jobs/launch', { workflowId, target: { labels: [label] } }),
    ],
    [
      'a batch',
      ['accepted', 'agent_not_found'],
      ({ agentId }) =>
        () =>
          tenant.api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [{}] }),
    ],
    [
      'a batch by its label',
      ['accepted', 'no_agent_fits'],
      ({ label }) =>
        () =>
          tenant.api.post('/api/jobs/batch', { workflowId, target: { labels: [label] }, rows: [{}] }),
    ],
    [
      'the preview of a placement',
      ['wake', 'agent_not_found'],
      ({ agentId }) =>
        () =>
          tenant.api.post('/api/jobs/placement-preview', { workflowId, agentId }),
    ],
    [
      'the preview of a placement by its label',
      ['wake', 'refuse'],
      ({ label }) =>
        () =>
          tenant.api.post('/api/jobs/placement-preview', { workflowId, target: { labels: [label] } }),
    ],
    [
      'a run of its schedule',
      ['accepted', 'agent_not_ready'],
      async ({ agentId }) => {
        const id = await makeScheduleFor({ agentId });
        return () => execute(id);
      },
    ],
    [
      'a run of a schedule for its label',
      ['accepted', 'no_agent_fits'],
      async ({ label }) => {
        const id = await makeScheduleFor({ target: { labels: [label] } });
        return () => execute(id);
      },
    ],
    [
      'a new schedule',
      ['the agent', 'agent_not_found'],
      ({ agentId }) =>
        () =>
          tenant.api.post('/api/schedules', {
            name: newId(),
            scriptId: workflowId,
            agentId,
            cronExpression: '0 6 * * *',
          }),
    ],
    [
      'another agent with its name',
      ['conflict', 'accepted'],
      ({ name }) =>
        () =>
          tenant.as.admin.post('/api/agents', { name, provider: 'external' }),
    ],
  ];

  it.each(uses)('%s counts the agent only until the agent is terminated', async (_, expected, prepare) => {
    const outcomes: string[] = [];
    for (const isTerminated of [false, true]) {
      const [name, label] = [newId(), `label-${newId()}`];
      const { organizationId } = tenant;
      const { id: agentId } = await makeAgent(harness.db, {
        ...{ organizationId, name, labels: [label], status: 'stopped', provider: 'docker' },
      });
      const request = await prepare({ agentId, name, label });
      if (isTerminated) await terminate(agentId);
      outcomes.push(describeAnswer(await request(), agentId));
    }
    expect(outcomes).toEqual(expected);
  });
});

/** Describes how the answer treats the agent. */
function describeAnswer({ body }: Answer, agentId: string): string {
  const { code, would, skipped, agents } = body;
  if (agents) return JSON.stringify(agents).includes(agentId) ? 'the agent' : 'other agents';
  return code ?? would ?? skipped?.[0]?.reason ?? (body.agentId === agentId ? 'the agent' : 'accepted');
}
