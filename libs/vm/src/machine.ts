/** What a provider knows its machine by, and what it may need to speak for it. */
export interface Machine {
  agentId: string;
  organizationId: string;
  providerRef: string | null;
  providerConfig: Record<string, unknown>;
  /** Our signature of a text, with the organization's secret. */
  sign: (text: string) => string;
}

export const machineStates = ['running', 'stopped', 'starting', 'stopping', 'gone', 'unknown'] as const;
export type MachineState = (typeof machineStates)[number];

export interface MachineDescription {
  state: MachineState;
  ip: string | null;
}

/** A machine of ours, as its provider lists it. */
export interface ListedMachine {
  /** What the provider knows it by: an agent's providerRef. */
  ref: string;
  /** Another name of it there, by whose beginning it may be called too. */
  id?: string;
  /** Whose it is, as the machine itself says. */
  agentId: string | null;
  organizationId: string | null;
  state: MachineState;
  /** Until when somebody said that it is needed. */
  expiresAt: Date | null;
}

/**
 * Where a machine comes from. Every order may be given twice; an order that was taken may still be under way, and
 * `describe` says how far it is. What cannot be done is thrown as a MachineError, within half a minute.
 */
export interface MachineProvider {
  describe(machine: Machine): Promise<MachineDescription>;
  start(machine: Machine): Promise<void>;
  stop(machine: Machine): Promise<void>;
  /** Ends the boot that runs and begins another one. */
  reboot(machine: Machine): Promise<void>;
  /** Leaves nothing of the machine. */
  terminate(machine: Machine): Promise<void>;

  /** What may be listed together with this machine, as a name: a region, an engine; null where nothing may be. */
  placeOf?(machine: Machine): string | null;
  /** The machines of ours at the place where this one is; null where the place doesn't tell. */
  list?(machine: Machine): Promise<ListedMachine[] | null>;
  /** Its places have machines of strangers too, and only what is marked as an organization's is that one's. */
  readonly isShared?: true;
}

export type MachineFault =
  /** This provider can't do such a thing at all. */
  | 'not_supported'
  /** What the agent says of its machine can't be used. */
  | 'misconfigured'
  /** There is such a machine, and nothing on it says that it is the organization's. */
  | 'not_ours'
  /** There is no such machine. */
  | 'gone'
  /** There was no answer. */
  | 'unreachable'
  /** We ask too often. */
  | 'throttled'
  /** We may not. That passes: keys are rotated, and a machine that runs must not be given up for it. */
  | 'denied'
  /** There was an answer, and it said no or made no sense. */
  | 'bad_answer'
  /** It was tried and did not work. */
  | 'failed';

const permanent: ReadonlySet<MachineFault> = new Set(['not_supported', 'misconfigured', 'not_ours', 'gone']);

/** Why a machine did not do what it was told; the message is for the people whose machine it is. */
export class MachineError extends Error {
  override name = 'MachineError';

  constructor(
    readonly fault: MachineFault,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Trying again changes nothing. */
  get permanent(): boolean {
    return permanent.has(this.fault);
  }
}
