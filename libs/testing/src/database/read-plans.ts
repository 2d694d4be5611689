import { Client } from 'pg';

/** A statement of the service, with what Postgres measured of its reads. */
export interface ReadPlan {
  sql: string;
  /** Number of pages of 8 KiB, read from memory or not. */
  buffers: number;
  ms: number;
  /** Each table or index that the statement reads, with the kind of scan. */
  scans: string[];
  /** Number of table rows that were read, including those that a filter removed. */
  looked: number;
}

interface Statement {
  text: string;
  values?: readonly unknown[];
  name?: string;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/**
 * Runs the work and explains each statement that it sends to the databases of this process, in the scope of the
 * statement.
 */
export async function readPlans(databaseUrl: string, work: () => Promise<unknown>): Promise<ReadPlan[]> {
  const batches: (readonly Statement[])[] = [];
  const query = Client.prototype.query;
  Client.prototype.query = function (this: Client, request: { statements?: readonly Statement[] }, ...rest: unknown[]) {
    if (Array.isArray(request.statements)) batches.push(request.statements);
    return (query as (...values: unknown[]) => unknown).call(this, request, ...rest);
  } as never;
  try {
    await work();
  } finally {
    Client.prototype.query = query;
  }
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const plans: ReadPlan[] = [];
    for (const statements of batches) {
      const settings = statements.filter(isSettingStatement);
      for (const statement of statements) {
        if (!/^\s*(SELECT|WITH)\b/.test(statement.text) || statement.name?.startsWith('muster_')) continue;
        plans.push(await explainStatement(client, settings, statement));
      }
    }
    return plans;
  } finally {
    await client.end();
  }
}

/** Whether the statement sets the scope of the following statements, or how they are planned. */
function isSettingStatement({ text }: Statement): boolean {
  return text.startsWith('SELECT set_config(');
}

async function explainStatement(client: Client, settings: Statement[], { text, values }: Statement): Promise<ReadPlan> {
  await client.query('BEGIN');
  try {
    for (const setting of settings) await client.query(setting.text, [...(setting.values ?? [])]);
    const explained = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`;
    const { rows } = await client.query(explained, [...(values ?? [])]);
    const [{ Plan, 'Execution Time': ms }] = rows[0]['QUERY PLAN'] as [{ Plan: PlanNode; 'Execution Time': number }];
    const scans = new Set<string>();
    const looked = collectScans(Plan, scans);
    return {
      sql: text,
      buffers: Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'],
      ms,
      scans: [...scans],
      looked,
    };
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Collects the scans of a plan and returns the number of table rows that it reads. */
function collectScans(node: PlanNode, scans: Set<string>): number {
  const { 'Node Type': type, 'Relation Name': relation, 'Index Name': index, Plans: plans = [] } = node;
  if (index) scans.add(`${type} ${index}`);
  else if (relation) scans.add(`${type} ${relation}`);
  const passedOver = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = relation ? (node['Actual Rows'] + passedOver) * node['Actual Loops'] : 0;
  return plans.reduce((sum, plan) => sum + collectScans(plan, scans), own);
}
