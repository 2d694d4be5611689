import { type ClientBase, type QueryResultRow, utils } from 'pg';
import { serialize } from 'pg-protocol';
import { RowReader } from './row-reader';
import {
  submitStatement,
  type WireColumn,
  type WireConnection,
  type WireStatement,
  type WireValue,
} from './wire-connection';

/** The database role that a statement runs under: `app` sees one organization's rows, `system` sees all. */
export type Role = 'app' | 'system';

export interface Statement {
  text: string;
  values?: readonly unknown[];
  /** Name under which Postgres parses and plans the statement once per connection; for statements that run often. */
  name?: string;
  /** The row of parameters, if a shared transaction may send them together with the rows of other callers. */
  row?: { into: RowStatement; values: readonly unknown[] };
}

/** A statement in two forms, for one row of parameters and for many; see `row-statement.ts`. */
export interface RowStatement {
  /** Takes any number of rows. Its parameters are arrays, one for each column. */
  many: { name: string; text: string };
  /** Takes one row with a cheaper plan, if there is one. Its parameters are the columns. */
  one?: { name: string; text: string };
}

/** The rows that a statement returns, and the number of rows that it affected. */
export interface Answer<T extends QueryResultRow = QueryResultRow> {
  rows: T[];
  affected: number;
  /** Command in Postgres' completion tag, such as SELECT, INSERT or COMMIT. */
  command: string;
}

/** Prepared statements of each connection, by name. The columns of a prepared statement cannot change. */
const preparedOn = new WeakMap<WireConnection, Map<string, { text: string; reader: RowReader }>>();
const noRows = new RowReader([]);

/**
 * Statements that are sent together: one write, one Sync, one wait for all answers. If a statement fails, the later
 * ones do not run. Outside a transaction block Postgres runs the batch as one transaction. A named statement is parsed
 * and described once per connection; pg's own query requests and reads the description with every use.
 */
export class StatementBatch implements WireStatement {
  private readonly answers: Answer[];
  private readonly readers: RowReader[];
  private current = 0;
  private fault: Error | null = null;

  constructor(
    private readonly statements: readonly Statement[],
    /** Called once, with the error or the answers. pg wraps this function to add a timeout. */
    public callback: (error: Error | null, answers: Answer[]) => void,
    /** Role that executes the statements; see `prefixNameWithRole`. */
    readonly role: Role = 'app',
  ) {
    this.answers = statements.map(() => ({ rows: [], affected: 0, command: '' }));
    this.readers = statements.map(() => noRows);
  }

  submit(connection: WireConnection): Error | undefined {
    const prepared = getPreparedStatements(connection);
    let values: WireValue[][];
    try {
      // All values are converted before the first byte is sent: if a conversion failed later, the statements that were
      // already sent could not be withdrawn.
      values = this.statements.map((statement) =>
        convertStatementValues(statement, prepared.get(this.prefixNameWithRole(statement))?.text),
      );
    } catch (error) {
      return error as Error;
    }
    const sent: Buffer[] = [];
    for (const [at, statement] of this.statements.entries()) {
      const { text } = statement;
      const name = this.prefixNameWithRole(statement);
      const existing = prepared.get(name);
      if (existing) this.readers[at] = existing.reader;
      // A statement that was parsed but failed still exists. Closing a statement that does not exist is not an error.
      if (!existing && name) sent.push(serialize.close({ type: 'S', name }));
      if (!existing) sent.push(serialize.parse({ text, name, types: [] }));
      sent.push(serialize.bind({ statement: name, values: values[at]! }));
      if (!existing) sent.push(serialize.describe({ type: 'P' }));
      sent.push(serialize.execute());
    }
    sent.push(serialize.sync());
    if (connection.stream.writable) connection.stream.write(Buffer.concat(sent));
    return undefined;
  }

  /**
   * Returns a name per role. A plan is valid only for its role, so Postgres would plan a shared statement again on
   * every change of the role.
   */
  private prefixNameWithRole({ name = '' }: Statement): string {
    return name && this.role === 'system' ? `${name}@system` : name;
  }

  handleRowDescription({ fields }: { fields: WireColumn[] }): void {
    this.readers[this.current] = new RowReader(fields);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.fault) return;
    try {
      this.answers[this.current]!.rows.push(this.readers[this.current]!.readRow(fields));
    } catch (error) {
      this.fault = error as Error;
    }
  }

  handleCommandComplete({ text: tag }: { text: string }, connection: WireConnection): void {
    const statement = this.statements[this.current]!;
    const { text } = statement;
    const name = this.prefixNameWithRole(statement);
    if (name) getPreparedStatements(connection).set(name, { text, reader: this.readers[this.current]! });
    const words = tag.split(' ');
    const answer = this.answers[this.current]!;
    answer.command = words[0]!;
    // The tag of a completed command is for example "UPDATE 3", "INSERT 0 3" or "BEGIN".
    answer.affected = words.length > 1 ? Number(words.at(-1)) : 0;
    this.current += 1;
  }

  handleReadyForQuery(): void {
    this.callback(this.fault, this.answers);
  }

  /** Prepares the statement again next time, because it may not exist, or its table may have changed. */
  handleError(error: Error, connection: WireConnection): void {
    const failed = this.statements[this.current];
    if (failed?.name) getPreparedStatements(connection).delete(this.prefixNameWithRole(failed));
    this.callback(error, this.answers);
  }

  handleCopyInResponse(connection: WireConnection): void {
    connection.sendCopyFail('COPY FROM STDIN is not supported');
  }

  handleEmptyQuery(): void {
    this.current += 1;
  }

  handlePortalSuspended(): void {}

  handleCopyData(): void {}
}

/** Sends statements on a connection that is checked out, and waits for all answers. */
export function sendStatementsTogether(
  client: ClientBase,
  statements: readonly Statement[],
  role: Role,
): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const settlePromise = (error: Error | null, answers: Answer[]) => (error ? reject(error) : resolve(answers));
    submitStatement(client, new StatementBatch(statements, settlePromise, role));
  });
}

function getPreparedStatements(connection: WireConnection) {
  const existing = preparedOn.get(connection);
  if (existing) return existing;
  const created = new Map<string, { text: string; reader: RowReader }>();
  preparedOn.set(connection, created);
  return created;
}

function convertStatementValues({ text, name, values = [] }: Statement, preparedText: string | undefined): WireValue[] {
  if (preparedText !== undefined && preparedText !== text)
    throw new Error(`two different statements have the name ${name}`);
  return values.map((value) => utils.prepareValue(value));
}
