import type { Principal } from '@muster/access';
import type { ImagingCompositeBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { encryptSecrets } from '../command/sealed-payload';
import { startImaging } from './start-imaging';

/**
 * Issues a command that builds a composite image of a patient's teeth. The text by which the worker finds the patient
 * is usually a name, so it is stored encrypted.
 */
export function startComposite(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { patientLookup, teeth }: ImagingCompositeBody,
  { keyRing, wakeTimeoutMs, now }: { keyRing: KeyRing; wakeTimeoutMs: number; now: Date },
): Promise<string> {
  const payload = { teeth, ...encryptSecrets(keyRing, agentId, { patientLookup }) };
  return startImaging(tx, caller, agentId, { kind: 'imaging_composite', payload, wakeTimeoutMs, now });
}
