import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { AppError, invalidFieldError, notFoundError } from '@muster/contracts';
import {
  type Database,
  getViolatedConstraint,
  type OrganizationDomainEntity,
  type Transaction,
} from '@muster/database';
import { audit } from '../audit/audit';
import type { Principal } from '../principal';
import type { TxtRecords } from './txt-records';

export type DomainRow = Pick<OrganizationDomainEntity, 'domain' | 'token' | 'provedAt' | 'provedBy'>;

const domainPattern = /^(?=.{3,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns the domains in their one spelling; throws invalid_payload for a text that is not a domain. */
export function normalizeDomains(domains: readonly string[]): string[] {
  const normalized = domains.map((domain) => {
    const ascii = domainToASCII(domain.trim().replace(/\.$/, '')).toLowerCase();
    if (domainPattern.test(ascii)) return ascii;
    const detail = `${domain} is not a domain such as example.com.`;
    throw invalidFieldError('domains', detail, detail);
  });
  return [...new Set(normalized)];
}

export function getEmailDomain(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}

/** Returns the TXT record with which an organization proves that a domain is its own. */
export function buildDomainProofRecord({ domain, token }: Pick<DomainRow, 'domain' | 'token'>): {
  name: string;
  value: string;
} {
  return { name: `_muster-challenge.${domain}`, value: `muster-domain-proof=${token}` };
}

/** Lists the organization's domains with their proofs, in the order of `domains`. */
export async function listDomainProofs(
  database: Database,
  organizationId: string,
  domains: readonly string[],
): Promise<DomainRow[]> {
  return database.query<DomainRow & object>(
    { organizationId },
    `SELECT domain, token, proved_at, proved_by FROM organization_domain
     WHERE organization_id = $1 AND domain = ANY($2) ORDER BY array_position($2::text[], domain)`,
    [organizationId, domains],
    'list_domains',
  );
}

/** Returns the proved domains of each organization. */
export async function readProvedDomains(
  tx: Transaction,
  organizationIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await tx.query<Pick<OrganizationDomainEntity, 'organizationId'> & { domains: string[] }>(
    `SELECT organization_id, array_agg(domain ORDER BY domain) AS domains FROM organization_domain
     WHERE organization_id = ANY($1) AND proved_at IS NOT NULL GROUP BY organization_id`,
    [organizationIds],
    'proved_domains',
  );
  return new Map(rows.map(({ organizationId, domains }) => [organizationId, domains]));
}

/** Adds the domains that the organization does not have yet, unproved. Removes unproved ones that it no longer names. */
export async function claimDomains(tx: Transaction, organizationId: string, domains: readonly string[]): Promise<void> {
  await requireDomainsUnprovedElsewhere(tx, organizationId, domains);
  await tx.execute(
    'DELETE FROM organization_domain WHERE organization_id = $1 AND proved_at IS NULL AND domain <> ALL($2)',
    [organizationId, domains],
  );
  await insertDomainClaims(tx, organizationId, domains);
}

/** Throws conflict unless the TXT record of the domain exists and has the right value. */
export async function requireDomainRecord(
  database: Database,
  records: TxtRecords,
  { organizationId, domain }: { organizationId: string; domain: string },
): Promise<void> {
  const [row] = await listDomainProofs(database, organizationId, [domain]);
  if (!row) throw notFoundError('domain');
  const { name, value } = buildDomainProofRecord(row);
  const found = await records.readTxtRecords(name);
  if (found.includes(value)) return;
  const reason = found.length > 0 ? `has another value: ${found[0]!.slice(0, 100)}` : 'does not exist';
  throw new AppError('conflict', {
    detail: `The TXT record ${name} ${reason}. Its value must be ${value}. A new record can take minutes to appear.`,
  });
}

/** Marks a domain as proved by its DNS record, in a transaction of the system scope. */
export async function proveDomain(tx: Transaction, caller: Principal, domain: string): Promise<DomainRow> {
  const { organizationId } = caller;
  await requireDomainsUnprovedElsewhere(tx, organizationId, [domain]);
  await markDomainsProved(tx, organizationId, { domains: [domain], provedBy: 'dns' });
  const [row] = await tx.query<DomainRow & object>(
    `SELECT domain, token, proved_at, proved_by FROM organization_domain WHERE organization_id = $1 AND domain = $2`,
    [organizationId, domain],
  );
  if (!row) throw notFoundError('domain');
  audit(tx, caller, {
    action: 'organization.prove_domain',
    target: { type: 'organization', id: organizationId },
    changes: { domain },
  });
  return row;
}

/** Sets the proved domains of an organization, which only the super_admin may do; returns the previous and new ones. */
export async function setProvedDomains(
  tx: Transaction,
  organizationId: string,
  domains: readonly string[],
): Promise<{ before: string[]; after: string[] }> {
  const after = normalizeDomains(domains).sort();
  await requireDomainsUnprovedElsewhere(tx, organizationId, after);
  const before = (await readProvedDomains(tx, [organizationId])).get(organizationId) ?? [];
  await tx.execute(
    `UPDATE organization_domain SET proved_at = NULL, proved_by = NULL
     WHERE organization_id = $1 AND proved_at IS NOT NULL AND domain <> ALL($2)`,
    [organizationId, after],
  );
  await insertDomainClaims(tx, organizationId, after);
  await markDomainsProved(tx, organizationId, { domains: after, provedBy: 'super_admin' });
  return { before, after };
}

async function insertDomainClaims(tx: Transaction, organizationId: string, domains: readonly string[]): Promise<void> {
  const tokens = domains.map(() => randomBytes(24).toString('base64url'));
  await tx.execute(
    `INSERT INTO organization_domain (organization_id, domain, token)
     SELECT $1::uuid, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING`,
    [organizationId, domains, tokens],
  );
}

async function markDomainsProved(
  tx: Transaction,
  organizationId: string,
  { domains, provedBy }: { domains: readonly string[]; provedBy: 'dns' | 'super_admin' },
): Promise<void> {
  try {
    await tx.execute(
      `UPDATE organization_domain SET proved_at = $3, proved_by = $4
       WHERE organization_id = $1 AND domain = ANY($2) AND proved_at IS NULL`,
      [organizationId, domains, tx.now, provedBy],
    );
  } catch (error) {
    // Another organization has proved the same domain concurrently.
    if (getViolatedConstraint(error) !== 'organization_domain_proved_key') throw error;
    throw domainTakenError(domains[0]!);
  }
}

async function requireDomainsUnprovedElsewhere(
  tx: Transaction,
  organizationId: string,
  domains: readonly string[],
): Promise<void> {
  const [taken] = await tx.query<Pick<OrganizationDomainEntity, 'domain'>>(
    `SELECT domain FROM organization_domain
     WHERE domain = ANY($2) AND proved_at IS NOT NULL AND organization_id <> $1 LIMIT 1`,
    [organizationId, domains],
    'taken_domain',
  );
  if (taken) throw domainTakenError(taken.domain);
}

function domainTakenError(domain: string): AppError {
  const detail = `The domain ${domain} belongs to another organization.`;
  return new AppError('conflict', { detail, errors: [{ field: 'domains', message: detail }] });
}
