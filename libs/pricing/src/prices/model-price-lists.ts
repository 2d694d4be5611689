import { audit, type Principal } from '@muster/access';
import type { ModelPrice, ModelPriceInput } from '@muster/contracts';
import { type Database, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { toEtag, requireEtagMatch, computeContentRevision } from '@muster/platform';
import { getPriceIdentity, presentPrice, type PriceRow, toPriceRows, shippedRows } from './price-row';

type Query = <T extends object>(sql: string, values?: unknown[]) => Promise<T[]>;

/** Prices, and the revision of those prices that the reader may replace. */
export interface PriceList {
  prices: ModelPrice[];
  revision: string;
}

/** Lists the organization's own prices, then the default prices, which apply if it has no own price. */
export async function listModelPrices(database: Database, organizationId: string): Promise<PriceList> {
  const own = await database.query<PriceRow>(
    { organizationId },
    `SELECT ${columns} FROM model_price WHERE organization_id = $1`,
    [organizationId],
  );
  const { prices, revision } = toPriceList(own, 'organization');
  return { prices: [...prices, ...(await listDefaultModelPrices(database)).prices], revision };
}

/** Lists the default prices. They belong to no organization, so they are read in the system's scope. */
export async function listDefaultModelPrices(database: Database): Promise<PriceList> {
  return toPriceList(await readDefaultPrices((sql) => database.query('system', sql)), 'default');
}

/** Replaces the organization's own prices. Ended runs keep the prices that they were booked with. */
export async function replaceModelPrices(
  tx: Transaction,
  caller: Principal,
  prices: ModelPriceInput[],
  ifMatch: string | undefined,
): Promise<PriceList> {
  const { organizationId } = caller;
  const rows = toPriceRows(prices);
  await acquireAdvisoryLock(tx, 'model_price', organizationId);
  const before = await tx.query<PriceRow>(`SELECT ${columns} FROM model_price WHERE organization_id = $1`, [
    organizationId,
  ]);
  requireEtagMatch(ifMatch, toEtag(toPriceList(before, 'organization').revision));
  tx.deferStatement('DELETE FROM model_price WHERE organization_id = $1', [organizationId]);
  tx.deferStatement(
    `INSERT INTO model_price (organization_id, provider_key, model_key, from_day, provider, model, input_micros, output_micros)
     SELECT $1, p.* FROM ${unnestPricesSql(2)}`,
    [organizationId, ...toPriceColumnArrays(rows)],
  );
  audit(tx, caller, {
    action: 'model_prices.replace',
    target: { type: 'organization', id: organizationId },
    changes: describePriceChanges(before, rows),
  });
  return toPriceList(rows, 'organization');
}

/** Replaces the default prices, for a super_admin, in the system's scope. */
export async function replaceDefaultModelPrices(
  tx: Transaction,
  caller: Principal,
  prices: ModelPriceInput[],
  ifMatch: string | undefined,
): Promise<PriceList> {
  const rows = toPriceRows(prices);
  await acquireAdvisoryLock(tx, 'default_model_price');
  const before = await readDefaultPrices((sql) => tx.query(sql));
  requireEtagMatch(ifMatch, toEtag(toPriceList(before, 'default').revision));
  tx.deferStatement('DELETE FROM default_model_price');
  tx.deferStatement(
    `INSERT INTO default_model_price (provider_key, model_key, from_day, provider, model, input_micros, output_micros)
     SELECT p.* FROM ${unnestPricesSql(1)}`,
    toPriceColumnArrays(rows),
  );
  tx.deferStatement(
    `INSERT INTO default_price_list (id) VALUES (true) ON CONFLICT (id) DO UPDATE SET replaced_at = muster_now()`,
  );
  audit(tx, caller, {
    action: 'default_model_prices.replace',
    target: { type: 'model_prices', id: 'default' },
    changes: describePriceChanges(before, rows),
  });
  return toPriceList(rows, 'default');
}

/** Reads the default prices: the shipped list, until a super_admin has replaced it. */
async function readDefaultPrices(query: Query): Promise<readonly PriceRow[]> {
  const rows = await query<Partial<PriceRow>>(
    // One statement, so that the list is consistent. A row without a model means that the shipped list was replaced by
    // an empty one.
    `SELECT ${columns} FROM default_price_list l LEFT JOIN default_model_price p ON true`,
  );
  if (rows.length === 0) return sortModelPrices(shippedRows);
  return sortModelPrices(rows.filter((row): row is PriceRow => typeof row.model === 'string'));
}

const columns = `provider_key, model_key, from_day::text AS from_day, provider, model, input_micros, output_micros`;

function toPriceList(rows: readonly PriceRow[], source: ModelPrice['source']): PriceList {
  const prices = sortModelPrices(rows).map((row) => presentPrice(row, source));
  return { prices, revision: computeContentRevision(prices) };
}

/** Sorts prices for display by provider, model and day, with names compared case-insensitively. */
function sortModelPrices(rows: readonly PriceRow[]): PriceRow[] {
  const sorted = rows.map((row) => ({ row, key: getPriceIdentity(row) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  return sorted.map(({ row }) => row);
}

function unnestPricesSql(first: number): string {
  const types = ['text', 'text', 'date', 'text', 'text', 'bigint', 'bigint'];
  return `unnest(${types.map((type, at) => `$${first + at}::${type}[]`).join(', ')}) AS p`;
}

function toPriceColumnArrays(rows: PriceRow[]): unknown[][] {
  return [
    rows.map(({ providerKey }) => providerKey),
    rows.map(({ modelKey }) => modelKey),
    rows.map(({ fromDay }) => fromDay),
    rows.map(({ provider }) => provider),
    rows.map(({ model }) => model),
    rows.map(({ inputMicros }) => String(inputMicros)),
    rows.map(({ outputMicros }) => String(outputMicros)),
  ];
}

/** Maximum number of added prices, and of removed prices, that an audit entry lists. The entry counts all of them. */
const maxListedPrices = 50;

function describePriceChanges(before: readonly PriceRow[], after: readonly PriceRow[]): Record<string, unknown> {
  const [was, is] = [before, after].map(
    (rows) => new Map(rows.map((row) => [getPriceIdentity(row), describeModelPrice(row)])),
  );
  const added = after
    .filter((row) => was!.get(getPriceIdentity(row)) !== describeModelPrice(row))
    .map(describeModelPrice);
  const removed = before
    .filter((row) => is!.get(getPriceIdentity(row)) !== describeModelPrice(row))
    .map(describeModelPrice);
  return {
    prices: [before.length, after.length],
    ...(added.length ? { added: added.length, addedPrices: added.slice(0, maxListedPrices) } : {}),
    ...(removed.length ? { removed: removed.length, removedPrices: removed.slice(0, maxListedPrices) } : {}),
  };
}

function describeModelPrice(row: PriceRow): string {
  const { provider, model, inputUsdPerMillion, outputUsdPerMillion, from } = presentPrice(row, 'default');
  return `${provider} ${model} from ${from}: ${inputUsdPerMillion} in, ${outputUsdPerMillion} out`;
}
