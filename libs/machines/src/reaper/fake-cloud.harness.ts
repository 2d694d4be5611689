import {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
} from '@muster/vm';

/** A fake cloud provider with one region. */
export class FakeCloud implements MachineProvider {
  readonly isShared = true;
  readonly machines = new Map<string, ListedMachine>();
  readonly stopped: string[] = [];
  /** Names of machines that exist but that the cloud refuses to describe. */
  readonly refused = new Set<string>();
  silent = false;
  hangs = false;
  stopFails = false;
  lists = 0;

  addMachine(ref: string, input: Partial<ListedMachine> = {}): ListedMachine {
    const machine = { ref, agentId: null, organizationId: null, state: 'running', expiresAt: null, ...input } as const;
    this.machines.set(ref, { ...machine });
    return this.machines.get(ref)!;
  }

  async describe({ providerRef }: Machine): Promise<MachineDescription> {
    await this.hangOrFailIfSilent();
    if (this.refused.has(providerRef!)) throw new MachineError('not_ours', 'It is not tagged.');
    return { state: this.machines.get(providerRef!)?.state ?? 'gone', ip: null };
  }

  start(): Promise<void> {
    throw new Error('nothing here starts a machine');
  }

  async stop({ providerRef }: Machine): Promise<void> {
    await this.hangOrFailIfSilent();
    if (this.stopFails) throw new MachineError('throttled', 'Not now.');
    this.stopped.push(providerRef!);
    this.machines.get(providerRef!)!.state = 'stopped';
  }

  reboot(): Promise<void> {
    throw new Error('nothing here reboots a machine');
  }

  terminate(): Promise<void> {
    throw new Error('nothing here terminates a machine');
  }

  getLocation({ providerConfig: { region } }: Machine): string | null {
    return typeof region === 'string' ? region : null;
  }

  async list(): Promise<ListedMachine[]> {
    this.lists += 1;
    await this.hangOrFailIfSilent();
    return [...this.machines.values()].map((machine) => ({ ...machine }));
  }

  private async hangOrFailIfSilent(): Promise<void> {
    if (this.hangs) await new Promise(() => undefined);
    if (this.silent) throw new MachineError('unreachable', 'The cloud does not answer.');
  }
}
