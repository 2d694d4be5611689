import { audit, type Principal } from '@muster/access';
import type { ModelPrice, ModelPriceInput } from '@muster/contracts';
import { type Database, lock, type Transaction } from '@muster/database';
import { etagOf, requireMatch, revisionOf } from '@muster/platform';
import { identityOf, presentPrice, type PriceRow, priceRowsOf, shippedRows } from './price-row';

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
  const { prices, revision } = listOf(own, 'organization');
  return { prices: [...prices, ...(await listDefaultModelPrices(database)).prices], revision };
}

/** Lists the default prices. They belong to no organization, so they are read in the system's scope. */
export async function listDefaultModelPrices(database: Database): Promise<PriceList> {
  return listOf(await readDefaults((sql) => database.query('system', sql)), 'default');
}

/** Replaces the organization's own prices. Ended runs keep the prices that they were booked with. */
export async function replaceModelPrices(
  tx: Transaction,
  caller: Principal,
  prices: ModelPriceInput[],
  ifMatch: string | undefined,
): Promise<PriceList> {
  const { organizationId } = caller;
  const rows = priceRowsOf(prices);
  await lock(tx, 'model_price', organizationId);
  const before = await tx.query<PriceRow>(`SELECT ${columns} FROM model_price WHERE organization_id = $1`, [
    organizationId,
  ]);
  requireMatch(ifMatch, etagOf(listOf(before, 'organization').revision));
  tx.defer('DELETE FROM model_price WHERE organization_id = $1', [organizationId]);
  tx.defer(
    `INSERT INTO model_price (organization_id, provider_key, model_key, from_day, provider, model, input_micros, output_micros)
     SELECT $1, p.* FROM ${unnested(2)}`,
    [organizationId, ...columnsOf(rows)],
  );
  audit(tx, caller, {
    action: 'model_prices.replace',
    target: { type: 'organization', id: organizationId },
    changes: differences(before, rows),
  });
  return listOf(rows, 'organization');
}

/** Replaces the default prices, for a super_admin, in the system's scope. */
export async function replaceDefaultModelPrices(
  tx: Transaction,
  caller: Principal,
  prices: ModelPriceInput[],
  ifMatch: string | undefined,
): Promise<PriceList> {
  const rows = priceRowsOf(prices);
  await lock(tx, 'default_model_price');
  const before = await readDefaults((sql) => tx.query(sql));
  requireMatch(ifMatch, etagOf(listOf(before, 'default').revision));
  tx.defer('DELETE FROM default_model_price');
  tx.defer(
    `INSERT INTO default_model_price (provider_key, model_key, from_day, provider, model, input_micros, output_micros)
     SELECT p.* FROM ${unnested(1)}`,
    columnsOf(rows),
  );
  tx.defer(
    `INSERT INTO default_price_list (id) VALUES (true) ON CONFLICT (id) DO UPDATE SET replaced_at = muster_now()`,
  );
  audit(tx, caller, {
    action: 'default_model_prices.replace',
    target: { type: 'model_prices', id: 'default' },
    changes: differences(before, rows),
  });
  return listOf(rows, 'default');
}

/** Reads the default prices: the shipped list, until a super_admin has replaced it. */
async function readDefaults(query: Query): Promise<readonly PriceRow[]> {
  const rows = await query<Partial<PriceRow>>(
    // One statement, so that the list is consistent. A row without a model means that the shipped list was replaced by
    // an empty one.
    `SELECT ${columns} FROM default_price_list l LEFT JOIN default_model_price p ON true`,
  );
  if (rows.length === 0) return inOrder(shippedRows);
  return inOrder(rows.filter((row): row is PriceRow => typeof row.model === 'string'));
}

const columns = `provider_key, model_key, from_day::text AS from_day, provider, model, input_micros, output_micros`;

function listOf(rows: readonly PriceRow[], source: ModelPrice['source']): PriceList {
  const prices = inOrder(rows).map((row) => presentPrice(row, source));
  return { prices, revision: revisionOf(prices) };
}

/** Sorts prices for display by provider, model and day, with names compared case-insensitively. */
function inOrder(rows: readonly PriceRow[]): PriceRow[] {
  const sorted = rows.map((row) => ({ row, key: identityOf(row) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  return sorted.map(({ row }) => row);
}

function unnested(first: number): string {
  const types = ['text', 'text', 'date', 'text', 'text', 'bigint', 'bigint'];
  return `unnest(${types.map((type, at) => `$${first + at}::${type}[]`).join(', ')}) AS p`;
}

function columnsOf(rows: PriceRow[]): unknown[][] {
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

/** Maximum number of added and of removed prices that an audit entry lists; it counts all of them. */
const maxListedPrices = 50;

function differences(before: readonly PriceRow[], after: readonly PriceRow[]): Record<string, unknown> {
  const [was, is] = [before, after].map((rows) => new Map(rows.map((row) => [identityOf(row), textOf(row)])));
  const added = after.filter((row) => was!.get(identityOf(row)) !== textOf(row)).map(textOf);
  const removed = before.filter((row) => is!.get(identityOf(row)) !== textOf(row)).map(textOf);
  return {
    prices: [before.length, after.length],
    ...(added.length ? { added: added.length, addedPrices: added.slice(0, maxListedPrices) } : {}),
    ...(removed.length ? { removed: removed.length, removedPrices: removed.slice(0, maxListedPrices) } : {}),
  };
}

function textOf(row: PriceRow): string {
  const { provider, model, inputUsdPerMillion, outputUsdPerMillion, from } = presentPrice(row, 'default');
  return `${provider} ${model} from ${from}: ${inputUsdPerMillion} in, ${outputUsdPerMillion} out`;
}
