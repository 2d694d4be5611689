import { newId } from '@muster/platform';
import { type Machine, MachineError, type MachineProvider } from './machine';

/** A provider with a machine for the tests, and functions that observe the machine without the provider. */
export interface ProviderUnderTest {
  provider: MachineProvider;
  machine: Machine;
  /** Returns the boots that the machine has had so far. */
  boots(): Promise<string[]>;
  /** Returns the resources that the machine still uses, such as processes, folders and entries in lists. */
  leftovers(): Promise<string[]>;
  /** Marks the machine as an organization's; null removes the mark. Only for shared providers. */
  mark?(organizationId: string | null): void;
  close(): Promise<void>;
}

export function makeTestMachine(input: Partial<Machine> = {}): Machine {
  return {
    agentId: newId(),
    organizationId: newId(),
    providerRef: null,
    providerConfig: {},
    sign: () => 'unsigned',
    ...input,
  };
}

/** Defines the tests of every provider that can start and stop its machines. */
export function testProviderConformance(name: string, startFixture: () => Promise<ProviderUnderTest>): void {
  describe(`the provider ${name}`, () => {
    let fixture: ProviderUnderTest;
    beforeEach(async () => (fixture = await startFixture()));
    afterEach(() => fixture.close());

    const waitForFixtureState = (state: string) => waitForState(fixture, state);
    const waitForBoots = async (count: number) => {
      for (let tries = 0; tries < 400 && (await fixture.boots()).length < count; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      const boots = await fixture.boots();
      expect(new Set(boots).size).toBe(boots.length);
      expect(boots).toHaveLength(count);
    };

    it('a provider starts a machine once, although start is called several times', async () => {
      const { provider, machine } = fixture;
      await Promise.all([provider.start(machine), provider.start(machine)]);
      await provider.start(machine);
      await waitForFixtureState('running');
      await waitForBoots(1);
      await provider.start(machine);
      expect((await provider.describe(machine)).state).toBe('running');
      await waitForBoots(1);
    });

    it('a provider stops a machine completely, and accepts a second stop', async () => {
      const { provider, machine } = fixture;
      await provider.start(machine);
      await waitForFixtureState('running');
      await provider.stop(machine);
      await waitForFixtureState('stopped');
      await provider.stop(machine);
      expect((await provider.describe(machine)).state).toBe('stopped');
      expect(await fixture.leftovers()).toEqual([]);
    });

    it('a provider starts a stopped machine in a new boot', async () => {
      const { provider, machine } = fixture;
      await provider.start(machine);
      await waitForBoots(1);
      await provider.stop(machine);
      await waitForFixtureState('stopped');
      await provider.start(machine);
      await waitForFixtureState('running');
      await waitForBoots(2);
    });

    it('a provider reboots a running machine into a new boot', async () => {
      const { provider, machine } = fixture;
      await provider.start(machine);
      await waitForBoots(1);
      await provider.reboot(machine);
      await waitForBoots(2);
      await waitForFixtureState('running');
    });

    it('a provider reboots a stopped machine by starting it in a new boot', async () => {
      const { provider, machine } = fixture;
      await provider.start(machine);
      await waitForBoots(1);
      await provider.stop(machine);
      await waitForFixtureState('stopped');
      await provider.reboot(machine);
      await waitForBoots(2);
      await waitForFixtureState('running');
    });

    it('a provider terminates a machine completely, and accepts a second terminate', async () => {
      const { provider, machine } = fixture;
      await provider.start(machine);
      await waitForFixtureState('running');
      await provider.terminate(machine);
      await waitForFixtureState('gone');
      await provider.terminate(machine);
      expect(await fixture.leftovers()).toEqual([]);
      expect((await provider.describe(machine)).state).toBe('gone');
    });
  });
}

/** Defines further tests of a provider whose regions or hosts also have machines of other owners. */
export function testSharedProviderConformance(name: string, startFixture: () => Promise<ProviderUnderTest>): void {
  describe(`the provider ${name}, with a machine that is not marked as the organization’s`, () => {
    let fixture: ProviderUnderTest;
    beforeEach(async () => (fixture = await startFixture()));
    afterEach(() => fixture.close());

    it.each([
      ['without a mark', () => null],
      ['with another organization’s mark', () => newId()],
      ['with an empty mark', () => ''],
      ['with its agent’s id as the mark', () => fixture.machine.agentId],
    ])('a provider refuses every operation on a machine %s, and its error names the required mark', async (_, mark) => {
      const { provider, machine } = fixture;
      for (const running of [false, true]) {
        fixture.mark!(machine.organizationId);
        if (running) await provider.start(machine);
        if (running) await waitForState(fixture, 'running');
        const [before, boots] = [await fixture.leftovers(), [...(await fixture.boots())]];
        fixture.mark!(mark());
        for (const error of await expectBoundedFailure(provider, machine)) {
          expect([error.fault, error.isPermanent]).toEqual(['not_ours', true]);
          expect(error.message).toMatch(
            new RegExp(`(tag|label) it muster[.:]organization=${machine.organizationId}\\.$`),
          );
        }
        expect([await fixture.leftovers(), await fixture.boots()]).toEqual([before, boots]);
      }
    });

    it('a provider accepts a machine as soon as its owner has marked it as the organization’s', async () => {
      const { provider, machine } = fixture;
      fixture.mark!(null);
      await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'not_ours' });
      fixture.mark!(machine.organizationId);
      await provider.start(machine);
      expect(await fixture.boots()).toHaveLength(1);
    });
  });
}

async function waitForState({ provider, machine }: ProviderUnderTest, state: string): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if ((await provider.describe(machine)).state === state) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`the machine is ${(await provider.describe(machine)).state} and did not become ${state}`);
}

/** Expects that each operation fails with a MachineError whose message is a sentence. Returns the errors. */
export async function expectBoundedFailure(provider: MachineProvider, machine: Machine): Promise<MachineError[]> {
  const orders = ['describe', 'start', 'stop', 'reboot', 'terminate'] as const;
  const results = await Promise.allSettled(orders.map((order) => provider[order](machine)));
  return results.map((result, index) => {
    const error: unknown = result.status === 'rejected' ? result.reason : undefined;
    if (!(error instanceof MachineError)) throw new Error(`${orders[index]} did not fail with a MachineError`);
    expect(error.message).toMatch(/^\S.+\.$/);
    return error;
  });
}
