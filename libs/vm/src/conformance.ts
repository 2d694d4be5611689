import { newId } from '@muster/platform';
import { type Machine, MachineError, type MachineProvider } from './machine';

/** A provider on ground of the suite's own, and what can be seen of its machines from beside it. */
export interface ProviderUnderTest {
  provider: MachineProvider;
  machine: Machine;
  /** The boots that the machine has had so far. */
  boots(): Promise<string[]>;
  /** What there is of the machine that costs somebody something: processes, folders, entries. */
  leftovers(): Promise<string[]>;
  /** Where strangers have machines too: writes on the machine whose it is; null takes that off it. */
  mark?(organizationId: string | null): void;
  close(): Promise<void>;
}

export function testMachine(input: Partial<Machine> = {}): Machine {
  return {
    agentId: newId(),
    organizationId: newId(),
    providerRef: null,
    providerConfig: {},
    sign: () => 'unsigned',
    ...input,
  };
}

/** What every provider keeps to that has a hand on its machines. */
export function describeProvider(name: string, begin: () => Promise<ProviderUnderTest>): void {
  describe(`the provider ${name}`, () => {
    let ground: ProviderUnderTest;
    beforeEach(async () => (ground = await begin()));
    afterEach(() => ground.close());

    const reaches = (state: string) => reach(ground, state);
    const hasBoots = async (count: number) => {
      for (let tries = 0; tries < 400 && (await ground.boots()).length < count; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      const boots = await ground.boots();
      expect(new Set(boots).size).toBe(boots.length);
      expect(boots).toHaveLength(count);
    };

    it('starts a machine, once however often it is told', async () => {
      const { provider, machine } = ground;
      await Promise.all([provider.start(machine), provider.start(machine)]);
      await provider.start(machine);
      await reaches('running');
      await hasBoots(1);
      await provider.start(machine);
      expect((await provider.describe(machine)).state).toBe('running');
      await hasBoots(1);
    });

    it('stops a machine for real, also one that is stopped already', async () => {
      const { provider, machine } = ground;
      await provider.start(machine);
      await reaches('running');
      await provider.stop(machine);
      await reaches('stopped');
      await provider.stop(machine);
      expect((await provider.describe(machine)).state).toBe('stopped');
      expect(await ground.leftovers()).toEqual([]);
    });

    it('starts a stopped machine again, in a new boot', async () => {
      const { provider, machine } = ground;
      await provider.start(machine);
      await hasBoots(1);
      await provider.stop(machine);
      await reaches('stopped');
      await provider.start(machine);
      await reaches('running');
      await hasBoots(2);
    });

    it('reboots into a new boot', async () => {
      const { provider, machine } = ground;
      await provider.start(machine);
      await hasBoots(1);
      await provider.reboot(machine);
      await hasBoots(2);
      await reaches('running');
    });

    it('starts a stopped machine that it is to reboot, in a new boot', async () => {
      const { provider, machine } = ground;
      await provider.start(machine);
      await hasBoots(1);
      await provider.stop(machine);
      await reaches('stopped');
      await provider.reboot(machine);
      await hasBoots(2);
      await reaches('running');
    });

    it('leaves nothing of a machine that is terminated, running or not, twice', async () => {
      const { provider, machine } = ground;
      await provider.start(machine);
      await reaches('running');
      await provider.terminate(machine);
      await reaches('gone');
      await provider.terminate(machine);
      expect(await ground.leftovers()).toEqual([]);
      expect((await provider.describe(machine)).state).toBe('gone');
    });
  });
}

/** What a provider keeps to beside, whose places have machines of strangers too. */
export function describeSharedProvider(name: string, begin: () => Promise<ProviderUnderTest>): void {
  describe(`the provider ${name}, of a machine that is not marked as the organization’s`, () => {
    let ground: ProviderUnderTest;
    beforeEach(async () => (ground = await begin()));
    afterEach(() => ground.close());

    it.each([
      ['but not at all', () => null],
      ['but as another one’s', () => newId()],
      ['but as nobody’s', () => ''],
      ['but as its agent’s name', () => ground.machine.agentId],
    ])('%s, does nothing and tells nothing, and says what to do', async (_, whose) => {
      const { provider, machine } = ground;
      for (const running of [false, true]) {
        ground.mark!(machine.organizationId);
        if (running) await provider.start(machine);
        if (running) await reach(ground, 'running');
        const [before, boots] = [await ground.leftovers(), [...(await ground.boots())]];
        ground.mark!(whose());
        for (const error of await expectBoundedFailure(provider, machine)) {
          expect([error.fault, error.permanent]).toEqual(['not_ours', true]);
          expect(error.message).toMatch(
            new RegExp(`(tag|label) it muster[.:]organization=${machine.organizationId}\\.$`),
          );
        }
        expect([await ground.leftovers(), await ground.boots()]).toEqual([before, boots]);
      }
    });

    it('takes it as soon as its owner has marked it', async () => {
      const { provider, machine } = ground;
      ground.mark!(null);
      await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'not_ours' });
      ground.mark!(machine.organizationId);
      await provider.start(machine);
      expect(await ground.boots()).toHaveLength(1);
    });
  });
}

async function reach({ provider, machine }: ProviderUnderTest, state: string): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if ((await provider.describe(machine)).state === state) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never ${state}, but ${(await provider.describe(machine)).state}`);
}

/** Whatever stands in a provider's way, each order ends soon, and as a MachineError that says why. */
export async function expectBoundedFailure(provider: MachineProvider, machine: Machine): Promise<MachineError[]> {
  const orders = ['describe', 'start', 'stop', 'reboot', 'terminate'] as const;
  const results = await Promise.allSettled(orders.map((order) => provider[order](machine)));
  return results.map((result, index) => {
    const error: unknown = result.status === 'rejected' ? result.reason : undefined;
    if (!(error instanceof MachineError)) throw new Error(`${orders[index]} did not fail as it should`);
    expect(error.message).toMatch(/^\S.+\.$/);
    return error;
  });
}
