import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface DemoInput {
  address: string;
  email: string;
  password: string;
}

const agentName = 'Demo agent';
const workflowName = 'Hello, Muster';

/** Creates an example for new users: an agent, a workflow, and a run of it. Returns the run's id. */
export async function ensureDemo({ address, email, password }: DemoInput): Promise<string> {
  const cookie = await signIn(address, email, password);
  const callApi = (method: string, path: string, body?: object) => sendRequest({ address, cookie, method, path, body });
  const [agentId, workflowId] = await Promise.all([findOrCreateDemoAgent(callApi), findOrCreateDemoWorkflow(callApi)]);
  const { jobId } = await callApi('POST', '/api/jobs/launch', {
    agentId,
    workflowId,
    variables: { GREETING: 'Good morning' },
  });
  return jobId as string;
}

type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Returns the id of the demo agent. An interrupted start may have created it already. */
async function findOrCreateDemoAgent(call: Call): Promise<string> {
  const { agents } = (await call('GET', `/api/agents?q=${encodeURIComponent(agentName)}`)) as {
    agents: { id: string; name: string }[];
  };
  const known = agents.find(({ name }) => name === agentName);
  if (known) return known.id;
  const made = (await call('POST', '/api/agents', { name: agentName, provider: 'local', labels: ['demo'] })) as {
    agent: { id: string };
  };
  return made.agent.id;
}

async function findOrCreateDemoWorkflow(call: Call): Promise<string> {
  const script = await readFile(join(__dirname, 'demo_workflow.py'), 'utf8');
  const { id } = (await call('POST', '/api/workflows', {
    name: workflowName,
    description: 'An example: it prints a greeting, processes two claims, and reports their costs.',
    variables: ['GREETING'],
    script,
  })) as { id: string };
  return id;
}

async function signIn(address: string, email: string, password: string): Promise<string> {
  const answer = await fetch(`${address}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`the sign-in failed with status ${answer.status}`);
  return answer.headers.get('set-cookie')!.split(';')[0]!;
}

async function sendRequest(input: {
  address: string;
  cookie: string;
  method: string;
  path: string;
  body?: object | undefined;
}): Promise<Record<string, unknown>> {
  const { address, cookie, method, path, body } = input;
  const answer = await fetch(`${address}${path}`, {
    method,
    headers: { cookie, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text) as Record<string, unknown>;
}
