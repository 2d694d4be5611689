import { FakeModel } from '@muster/testing';
import { onBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { milliseconds } from './report';
import { percentile } from './rounds';
import { sized } from './short';

// From the model's own first token, in its server, to the first token in the hands of whoever reads the stream; and
// from the request to the call of the model, which is what stands in front of that.

const messages = sized(300, 4);
const warmUp = sized(20, 1);
const goalMs = 20;

interface Told {
  /** Behind the model's own first token. */
  firstTokenMs: number;
  /** From the request to the model's being called. */
  beforeMs: number;
}

void onBenchStack(async (stack) => {
  const model = await FakeModel.start();
  // The first token of a real one comes a while after the call.
  model.answers(() => ({ content: 'It is online and idle.', slowMs: 5 }));
  const { apiKey, agentIds } = await makeBenchTenant(stack, 8);
  const gateway = await startApp('gateway', stack, model.env);
  const ask = (agentId: string) => firstToken(model, `${gateway.url}/api/agents/${agentId}/chat/stream`, apiKey);
  try {
    const alone: Told[] = [];
    for (let at = 0; at < warmUp + messages; at += 1) alone.push(await ask(agentIds[0]!));
    const together: Told[] = [];
    for (let at = 0; at < messages; at += agentIds.length) together.push(...(await Promise.all(agentIds.map(ask))));
    const measured = { 'one at a time': alone.slice(warmUp), [`${agentIds.length} at once`]: together };
    for (const [how, told] of Object.entries(measured)) print(how, told);
    const p99 = percentile(
      alone.slice(warmUp).map(({ firstTokenMs }) => firstTokenMs),
      99,
    );
    console.log(`  goal ${goalMs} ms at p99, one at a time: ${p99 <= goalMs ? 'met' : 'not met'}\n`);
    if (model.faults.length) throw new Error(model.faults[0]);
  } finally {
    await gateway.stop();
    await model.close();
  }
});

function print(how: string, told: Told[]): void {
  const both = (values: number[]) =>
    `p50 ${milliseconds(percentile(values, 50))}, p99 ${milliseconds(percentile(values, 99))}`;
  console.log(`chat-stream, ${how}: first token ${both(told.map((each) => each.firstTokenMs))} after the model’s own`);
  console.log(`  from the request to the call of the model ${both(told.map((each) => each.beforeMs))}`);
}

let asked = 0;

async function firstToken(model: FakeModel, url: string, apiKey: string): Promise<Told> {
  const message = `How is it? (${(asked += 1)})`;
  const arrived = new Promise<number>((resolve) => {
    model.answers(({ lastUserText }) => {
      if (lastUserText === message) resolve(performance.now());
      return undefined;
    });
  });
  const began = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ message }),
  });
  if (!response.ok) throw new Error(`the chat answered ${response.status}: ${await response.text()}`);
  let [text, at] = ['', 0];
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    if (at === 0 && text.includes('event: token')) at = performance.now();
  }
  if (!text.includes('event: done')) throw new Error(`the chat did not end well: ${text.slice(-500)}`);
  const call = model.calls.find(({ lastUserText }) => lastUserText === message)!;
  const beforeMs = (await arrived) - began;
  return { firstTokenMs: at - call.firstTokenAt!, beforeMs };
}
