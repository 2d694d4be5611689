import { WaitingLines } from './waiting-lines';

describe('waiting lines', () => {
  const createLines = () =>
    new WaitingLines({ lines: ['crowd', 'few'], concurrency: 2, waitingInLine: 5 }, () => new Error('full'));

  /** Runs tasks that the test ends, in the order in which they started. */
  function startControlledTasks(lines = createLines()) {
    const started: string[] = [];
    const ends: (() => void)[] = [];
    let running = 0;
    let maxRunning = 0;
    const startTask = (line: 'crowd' | 'few', name: string) =>
      lines
        .runInLine(line, async () => {
          started.push(name);
          maxRunning = Math.max(maxRunning, (running += 1));
          await new Promise<void>((resolve) => ends.push(resolve));
          running -= 1;
          return 'done';
        })
        .catch((error: Error) => error.message);
    const endOne = async () => {
      ends.shift()!();
      await new Promise(setImmediate);
    };
    return { run: startTask, endOne, started, maxRunning: () => maxRunning };
  }

  it('waiting lines run a limited number of tasks, let a limited number wait, and reject all others at once', async () => {
    const { run, endOne, maxRunning } = startControlledTasks();
    const answers = Array.from({ length: 50 }, (_, i) => run('crowd', `${i}`));
    const refused = await Promise.all(answers.slice(7));
    expect(new Set(refused)).toEqual(new Set(['full']));
    for (let i = 0; i < 7; i += 1) await endOne();
    expect(await Promise.all(answers.slice(0, 7))).toEqual(Array(7).fill('done'));
    expect(maxRunning()).toBe(2);
  });

  it('waiting lines take turns, so that a full line does not delay the tasks of the other line', async () => {
    const { run, endOne, started } = startControlledTasks();
    for (let i = 0; i < 20; i += 1) void run('crowd', `crowd ${i}`);
    void run('few', 'few 0');
    void run('few', 'few 1');
    for (let i = 0; i < 4; i += 1) await endOne();
    expect(started.slice(2)).toEqual(['crowd 2', 'few 0', 'crowd 3', 'few 1']);
  });

  it('waiting lines give the slot of a task that fails to the next task', async () => {
    const lines = createLines();
    const runFailingTask = () =>
      lines.runInLine('few', () => Promise.reject(new Error('no'))).catch((error: Error) => error.message);
    expect(await Promise.all([runFailingTask(), runFailingTask(), runFailingTask(), runFailingTask()])).toEqual([
      'no',
      'no',
      'no',
      'no',
    ]);
    expect(await lines.runInLine('few', () => Promise.resolve('yes'))).toBe('yes');
  });
});
