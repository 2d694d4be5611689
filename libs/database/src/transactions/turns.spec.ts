import { Turns } from './turns';

describe('turns', () => {
  const heldPromise = () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    return { release, released };
  };

  it('tasks with the same key run in order, one at a time, also after a failure; tasks with other keys run concurrently', async () => {
    const turns = new Turns(10);
    const [first, log] = [heldPromise(), [] as string[]];
    const failing = turns.runInTurn('a', async () => {
      await first.released;
      log.push('first');
      throw new Error('no');
    });
    const later = ['second', 'third'].map((name) => turns.runInTurn('a', async () => void log.push(name)));
    await turns.runInTurn('b', async () => void log.push('other key'));
    expect(log).toEqual(['other key']);
    first.release();
    await expect(failing).rejects.toThrow('no');
    await Promise.all(later);
    expect(log).toEqual(['other key', 'first', 'second', 'third']);
    expect(await turns.runInTurn('a', async () => 'free again')).toBe('free again');
  });

  it('a task is refused with 503 if too many tasks already wait for its key, without affecting the waiting tasks', async () => {
    const turns = new Turns(1);
    const first = heldPromise();
    const running = turns.runInTurn('a', () => first.released);
    const waiting = turns.runInTurn('a', async () => 'waited');
    await expect(turns.runInTurn('a', async () => 'refused')).rejects.toMatchObject({ code: 'service_unavailable' });
    first.release();
    await running;
    expect(await waiting).toBe('waited');
  });

  it('a waiting task whose caller disconnects gives up its position at once and never runs', async () => {
    const turns = new Turns(1);
    const [first, gone, log] = [heldPromise(), new AbortController(), [] as string[]];
    const running = turns.runInTurn('a', () => first.released);
    const abandoned = turns.runInTurn('a', async () => void log.push('abandoned'), gone.signal);
    gone.abort(new Error('the caller went away'));
    await expect(abandoned).rejects.toThrow('the caller went away');
    const next = turns.runInTurn('a', async () => void log.push('next'));
    const late = turns.runInTurn('a', async () => void log.push('late'), gone.signal);
    await expect(late).rejects.toThrow('the caller went away');
    first.release();
    await Promise.all([running, next]);
    expect(log).toEqual(['next']);
  });

  it('a running task finishes even if its caller disconnects, and the task after it runs', async () => {
    const turns = new Turns(2);
    const [first, second, gone] = [heldPromise(), heldPromise(), new AbortController()];
    const running = turns.runInTurn('a', () => first.released);
    const waiting = turns.runInTurn('a', () => second.released.then(() => 'done'), gone.signal);
    const behind = turns.runInTurn('a', async () => 'ran');
    first.release();
    await running;
    gone.abort();
    second.release();
    expect([await waiting, await behind]).toEqual(['done', 'ran']);
  });
});
