/** Identity and configuration of an agent's machine, as its provider needs them. */
export interface Machine {
  agentId: string;
  organizationId: string;
  providerRef: string | null;
  providerConfig: Record<string, unknown>;
  /** Signs a text with the organization's secret. */
  sign: (text: string) => string;
}

export const machineStates = ['running', 'stopped', 'starting', 'stopping', 'gone', 'unknown'] as const;
export type MachineState = (typeof machineStates)[number];

export interface MachineDescription {
  state: MachineState;
  ip: string | null;
}

/** A machine in a provider's list of the service's machines. */
export interface ListedMachine {
  /** Identifier of the machine at its provider, as in the field providerRef of an agent. */
  ref: string;
  /** Second identifier at the provider, such as a container id. An agent may also name a prefix of it. */
  id?: string;
  /** Agent and organization that the machine's tags or labels name; null if absent. */
  agentId: string | null;
  organizationId: string | null;
  state: MachineState;
  /** Time until which the machine is needed according to its tags or labels; null if absent. */
  expiresAt: Date | null;
}

/**
 * Controls the machines of one kind. An order is a call of start, stop, reboot or terminate. Callers may repeat an
 * order. An accepted order may still be in progress: `describe` returns the current state. A failed operation throws a
 * MachineError within 30 seconds.
 */
export interface MachineProvider {
  describe(machine: Machine): Promise<MachineDescription>;
  start(machine: Machine): Promise<void>;
  stop(machine: Machine): Promise<void>;
  /** Ends the current boot and starts a new one. */
  reboot(machine: Machine): Promise<void>;
  /** Terminates the machine for good, with everything that belongs to it. */
  terminate(machine: Machine): Promise<void>;

  /**
   * Name of the region or host, such as a Docker Engine, whose machines are listed together with this one. Null if the
   * machine cannot be listed.
   */
  getLocation?(machine: Machine): string | null;
  /** Lists the service's machines in the region or on the host of this machine; null if they cannot be listed. */
  list?(machine: Machine): Promise<ListedMachine[] | null>;
  /** Whether its regions or hosts also have machines of other owners. Then a machine's mark names its organization. */
  readonly isShared?: true;
}

export type MachineFault =
  /** Fault of an operation that the provider does not support. */
  | 'not_supported'
  /** The configuration of the agent's machine, or of its provider, is invalid. */
  | 'misconfigured'
  /** The machine exists but is not marked as the organization's. */
  | 'not_ours'
  /** Fault of an operation on a machine that does not exist. */
  | 'gone'
  /** Fault of an operation that the provider did not answer. */
  | 'unreachable'
  /** Fault of an operation that exceeds the provider's limit of calls. */
  | 'throttled'
  /** The provider forbids the call. Not permanent: keys are rotated, and a running machine must not be abandoned. */
  | 'denied'
  /** The provider refused the call, or its answer is invalid. */
  | 'bad_answer'
  /** Fault of an operation that the provider tried and that failed. */
  | 'failed';

const permanent: ReadonlySet<MachineFault> = new Set(['not_supported', 'misconfigured', 'not_ours', 'gone']);

/** Failure of a machine operation. Its message is written for the users of the agent. */
export class MachineError extends Error {
  override name = 'MachineError';

  constructor(
    readonly fault: MachineFault,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Whether trying the operation again is useless. */
  get isPermanent(): boolean {
    return permanent.has(this.fault);
  }
}
