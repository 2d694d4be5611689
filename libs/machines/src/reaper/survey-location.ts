import { finishWithin } from '@muster/platform';
import { type ListedMachine, type Machine, MachineError, type MachineProvider } from '@muster/vm';
import { canWakeFrom } from '../life/agent-life';
import type { MachineRow } from '../orders/machine-of';

interface SurveyedAgent extends MachineRow {
  /** The agent's machine in the form that its provider expects. */
  machine: Machine;
}

/**
 * A location of machines, such as an EC2 region or a Docker host, with its agents. The provider lists all machines of
 * one location together.
 */
export interface MachineLocation {
  provider: string;
  name: string;
  /**
   * A machine at this location; the provider is queried with its credentials. It is the machine of a current agent or
   * of one that was terminated recently.
   */
  asking: Machine;
  living: SurveyedAgent[];
}

export interface Survey {
  /** The listed machines; null if the provider cannot list the machines of this location. */
  machines: ListedMachine[] | null;
  gone: { agentId: string; listed: boolean }[];
  there: string[];
}

export interface SurveyLimits {
  signal: AbortSignal;
}

const listLimitMs = 30_000;
const describeLimitMs = 10_000;
const concurrency = 4;
const failuresUntilLeft = 3;

/**
 * Lists the machines of a location and finds the agents whose machines do not exist there. Throws if the provider does
 * not answer.
 */
export async function surveyLocation(
  provider: MachineProvider,
  location: MachineLocation,
  limits: SurveyLimits,
): Promise<Survey> {
  const machines = await runWithinLimit(limits.signal, listLimitMs, provider.list!(location.asking));
  const survey: Survey = { machines, gone: [], there: [] };
  // A local machine is created from its folder at each start, so it cannot be missing.
  if (location.provider === 'local') return survey;
  let failures = 0;
  const left = [...location.living];
  const surveyNextAgents = async () => {
    for (let agent = left.pop(); agent && failures < failuresUntilLeft; agent = left.pop()) {
      if (limits.signal.aborted) return;
      const failed = !(await surveyMachineOfAgent(provider, agent, survey, limits));
      failures = failed ? failures + 1 : 0;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, surveyNextAgents));
  return survey;
}

/**
 * Whether the listed machine belongs to the agent. At a location that several organizations share, the machine must
 * also have the tag of the agent's organization.
 */
export function isMachineOfAgent(
  { isShared }: MachineProvider,
  listed: ListedMachine,
  { organizationId, agentId, providerRef }: Pick<MachineRow, 'organizationId' | 'agentId' | 'providerRef'>,
): boolean {
  if (isShared && listed.organizationId !== organizationId) return false;
  const ref = providerRef ?? agentId;
  return listed.ref === ref || (listed.id?.startsWith(ref) ?? false);
}

/**
 * Checks whether the agent's machine exists and adds the result to the survey. Returns false if the provider did not
 * answer.
 */
async function surveyMachineOfAgent(
  provider: MachineProvider,
  agent: SurveyedAgent,
  survey: Survey,
  { signal }: SurveyLimits,
): Promise<boolean> {
  const { agentId, status, machine } = agent;
  const listed = survey.machines?.find((each) => isMachineOfAgent(provider, each, agent)) ?? null;
  let state = listed?.state ?? null;
  // Only stopped and offline agents are checked: in any other status the machine reports, or an order to it is in
  // progress.
  if (!listed && canWakeFrom(status)) {
    try {
      ({ state } = await runWithinLimit(signal, describeLimitMs, provider.describe(machine)));
    } catch (error) {
      // A permanent error shows that the provider answers, so the other machines of the location are still checked.
      return error instanceof MachineError && error.isPermanent;
    }
  }
  if (state === 'gone') {
    survey.gone.push({ agentId, listed: listed !== null });
    return true;
  }
  if (state !== null && state !== 'unknown') survey.there.push(agentId);
  return true;
}

/** Returns the result of the work. Throws if the work takes longer than the limit or the service is shutting down. */
export function runWithinLimit<T>(signal: AbortSignal, limitMs: number, work: Promise<T>): Promise<T> {
  const throwUnreachable = (ended: boolean): never => {
    throw new MachineError(
      'unreachable',
      ended
        ? 'The service is shutting down. Try again when it has restarted.'
        : `There was no answer within ${limitMs} ms.`,
    );
  };
  return finishWithin(limitMs, work, throwUnreachable, signal);
}
