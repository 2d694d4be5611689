import { newId } from '@muster/platform';

/** A way from whoever says that there is work to the handler that does it. */
export interface Way {
  /** Answers when it is promised that the handler will run. */
  send(id: string): Promise<void>;
  /** Answers when nothing of it is left behind. */
  settled(): Promise<void>;
}

export type Question = { messages: number; producers: number } | { oneByOne: number };

const started = new Map<string, (at: number) => void>();

/** The handler calls this first of all. */
export function handlerStarted(id: string): void {
  const at = performance.now();
  started.get(id)?.(at);
  started.delete(id);
}

/** Answers the benchmark's questions about a way until the benchmark is gone. */
export function answerQuestions(way: Way): void {
  process.on('message', (question: Question) => {
    void ('oneByOne' in question ? oneByOne(way, question.oneByOne) : together(way, question)).then(async (answer) => {
      await way.settled();
      process.send!(answer);
    });
  });
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.send!({});
}

/** From the first commit to the start of the last handler. */
async function together(way: Way, { messages, producers }: { messages: number; producers: number }) {
  const ids = Array.from({ length: messages }, newId);
  const handled = ids.map(whenStarted);
  const began = performance.now();
  const produce = async () => {
    for (let id = ids.pop(); id; id = ids.pop()) await way.send(id);
  };
  await Promise.all(Array.from({ length: producers }, produce));
  const last = Math.max(...(await Promise.all(handled)));
  return { perSecond: messages / ((last - began) / 1000) };
}

/** From before the send to the start of its handler, where nothing else is going on. */
async function oneByOne(way: Way, count: number) {
  const latenciesMs: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const id = newId();
    const handled = whenStarted(id);
    const began = performance.now();
    await way.send(id);
    latenciesMs.push((await handled) - began);
    await way.settled();
  }
  return { latenciesMs };
}

function whenStarted(id: string): Promise<number> {
  return new Promise((resolve) => started.set(id, resolve));
}
