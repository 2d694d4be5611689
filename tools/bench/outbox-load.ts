import { newId } from '@muster/platform';

/** A path of a message from the sender to its handler. */
export interface MessagePath {
  /** Resolves when it is guaranteed that the handler will run. */
  send(id: string): Promise<void>;
  /** Resolves when no message is left. */
  drained(): Promise<void>;
}

export type Question = { messages: number; producers: number } | { oneByOne: number };

const started = new Map<string, (at: number) => void>();

/** A handler calls this before anything else. */
export function recordHandlerStart(id: string): void {
  const at = performance.now();
  started.get(id)?.(at);
  started.delete(id);
}

/** Answers the benchmark's questions about a message path until the benchmark disconnects. */
export function answerQuestions(path: MessagePath): void {
  process.on('message', (question: Question) => {
    void ('oneByOne' in question ? measureOneByOne(path, question.oneByOne) : measureTogether(path, question)).then(
      async (answer) => {
        await path.drained();
        process.send!(answer);
      },
    );
  });
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.send!({});
}

/** Measures the rate from the first commit to the start of the last handler. */
async function measureTogether(path: MessagePath, { messages, producers }: { messages: number; producers: number }) {
  const ids = Array.from({ length: messages }, newId);
  const handled = ids.map(waitForHandlerStart);
  const began = performance.now();
  const produceMessages = async () => {
    for (let id = ids.pop(); id; id = ids.pop()) await path.send(id);
  };
  await Promise.all(Array.from({ length: producers }, produceMessages));
  const last = Math.max(...(await Promise.all(handled)));
  return { perSecond: messages / ((last - began) / 1000) };
}

/** Measures the time from the send of one message to the start of its handler, without other load. */
async function measureOneByOne(path: MessagePath, count: number) {
  const latenciesMs: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const id = newId();
    const handled = waitForHandlerStart(id);
    const began = performance.now();
    await path.send(id);
    latenciesMs.push((await handled) - began);
    await path.drained();
  }
  return { latenciesMs };
}

function waitForHandlerStart(id: string): Promise<number> {
  return new Promise((resolve) => started.set(id, resolve));
}
