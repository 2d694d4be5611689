import { Turns } from './turns';

describe('turns', () => {
  const heldPromise = () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    return { release, released };
  };

  it('work of one key runs in order and one at a time, also after a failure; work of other keys runs concurrently', async () => {
    const turns = new Turns(10);
    const [first, log] = [heldPromise(), [] as string[]];
    const failing = turns.run('a', async () => {
      await first.released;
      log.push('first');
      throw new Error('no');
    });
    const later = ['second', 'third'].map((name) => turns.run('a', async () => void log.push(name)));
    await turns.run('b', async () => void log.push('other key'));
    expect(log).toEqual(['other key']);
    first.release();
    await expect(failing).rejects.toThrow('no');
    await Promise.all(later);
    expect(log).toEqual(['other key', 'first', 'second', 'third']);
    expect(await turns.run('a', async () => 'free again')).toBe('free again');
  });

  it('work is refused with 503 if too much work already waits for its key, without affecting the waiting work', async () => {
    const turns = new Turns(1);
    const first = heldPromise();
    const running = turns.run('a', () => first.released);
    const waiting = turns.run('a', async () => 'waited');
    await expect(turns.run('a', async () => 'refused')).rejects.toMatchObject({ code: 'service_unavailable' });
    first.release();
    await running;
    expect(await waiting).toBe('waited');
  });
});
