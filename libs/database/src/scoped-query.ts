import { Query, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';

/** Whose rows a statement may see: one organization's, or, for the service's own work, all. */
export type Scope = { organizationId: string } | 'system';

const setScope = "SELECT set_config('role', $1, true), set_config('muster.organization_id', $2, true)";

const setScopeName = 'muster_set_scope';

export function scopeValues(scope: Scope): [role: string, organizationId: string] {
  return scope === 'system' ? ['muster_system', ''] : ['muster_app', scope.organizationId];
}

export { setScope };

/**
 * One statement in its scope, in one round trip. The scope is set by a statement of its own that travels in front,
 * before the same Sync: Postgres runs both in one implicit transaction, and the setting ends with it. A transaction
 * block would cost three round trips more.
 */
export class ScopedQuery extends Query {
  private phase: 'sending' | 'scoping' | 'scoped' = 'sending';
  private statementName?: string;
  private readonly scopeParameters: string[];

  constructor(scope: Scope, config: QueryConfig, callback: (error: Error | null, result: QueryResult) => void) {
    super({ ...config, values: config.values ?? [], queryMode: 'extended' } as QueryConfig, callback as never);
    this.scopeParameters = scopeValues(scope);
  }

  /** Hidden while the scope's own answers come in: pg would take them for the statement's, and count it as parsed. */
  get name(): string | undefined {
    return this.phase === 'scoping' ? undefined : this.statementName;
  }

  set name(name: string | undefined) {
    this.statementName = name;
  }

  override prepare(connection: WireConnection): void {
    if (!connection.parsedStatements[setScopeName]) {
      // One that was parsed and then failed is there unknown to us; to close one that is not there is no fault.
      connection.close({ type: 'S', name: setScopeName });
      connection.parse({ text: setScope, name: setScopeName, types: [] });
    }
    const values = this.scopeParameters;
    connection.bind({ portal: '', statement: setScopeName, values, binary: false, valueMapper: String });
    connection.execute({ portal: '', rows: 0 });
    super.prepare(connection);
    this.phase = 'scoping';
  }

  override handleDataRow(message: unknown): void {
    if (this.phase === 'scoped') super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: WireConnection): void {
    if (this.phase === 'scoped') return super.handleCommandComplete(message, connection);
    this.phase = 'scoped';
    connection.parsedStatements[setScopeName] = setScope;
  }

  override handleError(error: Error, connection: WireConnection): void {
    if (this.statementName) delete connection.submittedNamedStatements?.[this.statementName];
    super.handleError(error, connection);
  }
}

/** The part of pg's connection that a query speaks to; its type declarations leave it out. */
export interface WireConnection {
  parse(query: { text: string; name: string; types: number[] }): void;
  bind(config: {
    portal: string;
    statement: string;
    values: string[];
    binary: boolean;
    valueMapper: (value: unknown) => string;
  }): void;
  execute(config: { portal: string; rows: number }): void;
  close(target: { type: 'S'; name: string }): void;
  /** What this connection has prepared, by name. */
  parsedStatements: Record<string, string>;
  submittedNamedStatements?: Record<string, string>;
}

declare module 'pg' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-unused-vars -- merging needs the declaration's own parameters
  interface Query<R extends QueryResultRow = any, I extends any[] = any> {
    prepare(connection: WireConnection): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: WireConnection): void;
    handleError(error: Error, connection: WireConnection): void;
  }
}
