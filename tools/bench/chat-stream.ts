import { FakeModel } from '@muster/testing';
import { runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { formatMilliseconds } from './print-report';
import { computePercentile } from './rounds';
import { chooseSize } from './short';

// Measures the time from the model's first token, in the model's server, to the first token that the reader of the
// stream receives; and the time from the request to the call of the model.

const messages = chooseSize(300, 4);
const warmUp = chooseSize(20, 1);
const targetMs = 20;

interface ChatTimes {
  /** Time from the model's first token to the reader's first token. */
  firstTokenMs: number;
  /** Time from the request to the call of the model. */
  beforeMs: number;
}

void runOnBenchStack(async (stack) => {
  const model = await FakeModel.start();
  // A real model sends its first token some time after the call.
  model.addRule(() => ({ content: 'It is online and idle.', slowMs: 5 }));
  const { apiKey, agentIds } = await makeBenchTenant(stack, 8);
  const gateway = await startApp('gateway', stack, model.environment);
  const measureQuestion = (agentId: string) =>
    measureFirstToken(model, `${gateway.url}/api/agents/${agentId}/chat/stream`, apiKey);
  try {
    const alone: ChatTimes[] = [];
    for (let at = 0; at < warmUp + messages; at += 1) alone.push(await measureQuestion(agentIds[0]!));
    const together: ChatTimes[] = [];
    for (let at = 0; at < messages; at += agentIds.length)
      together.push(...(await Promise.all(agentIds.map(measureQuestion))));
    const measured = { 'one at a time': alone.slice(warmUp), [`${agentIds.length} at once`]: together };
    for (const [name, times] of Object.entries(measured)) printTimes(name, times);
    const p99 = computePercentile(
      alone.slice(warmUp).map(({ firstTokenMs }) => firstTokenMs),
      99,
    );
    console.log(`  target ${targetMs} ms at p99, one at a time: ${p99 <= targetMs ? 'met' : 'not met'}\n`);
    if (model.faults.length) throw new Error(model.faults[0]);
  } finally {
    await gateway.stop();
    await model.close();
  }
});

function printTimes(name: string, times: ChatTimes[]): void {
  const formatMedianAndP99 = (values: number[]) =>
    `p50 ${formatMilliseconds(computePercentile(values, 50))}, p99 ${formatMilliseconds(computePercentile(values, 99))}`;
  console.log(
    `chat-stream, ${name}: first token ${formatMedianAndP99(times.map((each) => each.firstTokenMs))} after the model’s own`,
  );
  console.log(`  from the request to the call of the model ${formatMedianAndP99(times.map((each) => each.beforeMs))}`);
}

let messageCount = 0;

async function measureFirstToken(model: FakeModel, url: string, apiKey: string): Promise<ChatTimes> {
  const message = `How is it? (${(messageCount += 1)})`;
  const arrived = new Promise<number>((resolve) => {
    model.addRule(({ lastUserText }) => {
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
  if (!text.includes('event: done')) throw new Error(`the chat did not end with an event "done": ${text.slice(-500)}`);
  const call = model.calls.find(({ lastUserText }) => lastUserText === message)!;
  const beforeMs = (await arrived) - began;
  return { firstTokenMs: at - call.firstTokenAt!, beforeMs };
}
