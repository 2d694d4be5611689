import { createPublicKey, randomBytes } from 'node:crypto';
import { audit, type Principal } from '@muster/access';
import {
  AppError,
  type CreateInboundCodeBody,
  type GatewayKeys,
  invalidFieldError,
  notFoundError,
} from '@muster/contracts';
import { type Database, type InboundCodeEntity, type Transaction, getViolatedConstraint } from '@muster/database';
import { newId, type Page } from '@muster/platform';
import { isSealedText, type KeyRing, openText, sealText } from '@muster/vault';

export type InboundCodeRow = Omit<InboundCodeEntity, 'sealed'>;

const columns = 'id, organization_id, name, pattern, senders, created_at';

/** Keys that sign the messages to an inbound address. */
export interface InboundKeys {
  /** Key for messages in the service's own format. */
  secret: string;
  gatewayKeys: GatewayKeys;
}

/** Returns the keys of an inbound address; null if they cannot be read. */
export function openInboundKeys(
  keyRing: KeyRing,
  { id, sealed }: Pick<InboundCodeEntity, 'id' | 'sealed'>,
): InboundKeys | null {
  if (!isSealedText(sealed)) return null;
  const text = openText(keyRing, buildInboundAssociatedData(id), sealed);
  if (text.startsWith('{')) return JSON.parse(text) as InboundKeys;
  // An address of an older version has one secret for every form of message.
  return { secret: text, gatewayKeys: { twilio: text, mailgun: text, sendgrid: text } };
}

/** Creates an inbound address for messages with codes. Only this response contains the secret of the address. */
export async function createInboundCode(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  body: CreateInboundCodeBody,
): Promise<{ row: InboundCodeRow; secret: string }> {
  const { organizationId } = caller;
  const { name, pattern = null, senders, gatewayKeys = {} } = body;
  if (pattern !== null) requireValidPattern(pattern);
  if (gatewayKeys.sendgrid !== undefined) requireValidPublicKey(gatewayKeys.sendgrid);
  const id = newId();
  const secret = `mic_${randomBytes(32).toString('base64url')}`;
  const keys: InboundKeys = { secret, gatewayKeys };
  const sealed = JSON.stringify(sealText(keyRing, buildInboundAssociatedData(id), JSON.stringify(keys)));
  try {
    const [row] = await tx.query<InboundCodeRow>(
      `INSERT INTO inbound_code (id, organization_id, name, pattern, senders, sealed) VALUES ($1, $2, $3, $4, $5, $6)
       RETURNING ${columns}`,
      [id, organizationId, name, pattern, (senders ?? []).map((sender) => sender.toLowerCase()), sealed],
    );
    audit(tx, caller, { action: 'inbound_code.create', target: { type: 'inbound_code', id }, changes: { name } });
    return { row: row!, secret };
  } catch (error) {
    if (getViolatedConstraint(error) !== 'inbound_code_name_key') throw error;
    throw new AppError('conflict', {
      detail: `An inbound address with the name ${name} already exists. Use another name, or delete the existing address.`,
    });
  }
}

export function listInboundCodes(database: Database, organizationId: string, page: Page): Promise<InboundCodeRow[]> {
  return database.query<InboundCodeRow>(
    { organizationId },
    `SELECT ${columns} FROM inbound_code WHERE organization_id = $1 AND ($2::uuid IS NULL OR id > $2)
     ORDER BY id LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1],
    'list_inbound_codes',
  );
}

export async function deleteInboundCode(tx: Transaction, caller: Principal, id: string): Promise<void> {
  const touched = await tx.execute('DELETE FROM inbound_code WHERE id = $1 AND organization_id = $2', [
    id,
    caller.organizationId,
  ]);
  if (touched === 0) throw notFoundError('inbound address');
  audit(tx, caller, { action: 'inbound_code.delete', target: { type: 'inbound_code', id } });
}

/** Throws if the pattern is one that could take very long to match some text and so block the process. */
function requireValidPattern(pattern: string): void {
  const message = 'pattern must be a regular expression without repeated groups, back references and lookarounds';
  const nested = /\)[*+{?]|\\[1-9k]|\(\?[=!<]/.test(pattern);
  const repeats = (pattern.match(/[*+{]/g) ?? []).length;
  let isRegular = true;
  try {
    new RegExp(pattern, 'u');
  } catch {
    isRegular = false;
  }
  if (!isRegular || nested || repeats > 4) throw invalidFieldError('pattern', message, `${message}.`);
}

function requireValidPublicKey(text: string): void {
  try {
    createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
  } catch {
    const message = 'gatewayKeys.sendgrid must be a public key as base64';
    throw invalidFieldError('gatewayKeys.sendgrid', message, `${message}.`);
  }
}

export function buildInboundAssociatedData(id: string): string {
  return `inbound/${id}`;
}
