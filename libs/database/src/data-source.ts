import { types } from 'pg';
import { DataSource, type DataSourceOptions, DefaultNamingStrategy } from 'typeorm';
import { entities } from './entities';
import { migrations } from './migrations';
import { appRole } from './transactions/tenant-isolation';

// Counts, sequence numbers, milliseconds and nearly all amounts of money fit into a number. A value that a number
// cannot represent exactly becomes a bigint.
types.setTypeParser(types.builtins.INT8, (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
});

/** Columns are snake_case in the database and camelCase in the code. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string, prefixes: string[]): string {
    const name = super.columnName(propertyName, customName, prefixes);
    return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }
}

export interface ConnectionOptions {
  url: string;
  poolSize: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  applicationName: string;
}

/** Connection options of the service. Its role owns nothing, so a statement outside a scope sees no rows. */
export function buildServiceConnectionOptions(options: ConnectionOptions) {
  const { url, poolSize, connectTimeoutMs, statementTimeoutMs, applicationName } = options;
  return {
    ...buildCommonOptions(url),
    poolSize,
    applicationName,
    connectTimeoutMS: connectTimeoutMs,
    extra: {
      options: `-c role=${appRole}`,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      // If a query takes longer than this, the database server counts as hung, because its own statement timeout should
      // have ended the query.
      query_timeout: statementTimeoutMs + 2000,
      keepAlive: true,
      // Connections stay open for five minutes without use. A new connection takes milliseconds on both sides, and
      // loops that sometimes run at the same time would open new connections each time.
      idleTimeoutMillis: 300_000,
    },
  } satisfies DataSourceOptions;
}

/**
 * Maximum time in milliseconds that a migration waits for a lock, and that statements of the service wait behind it.
 */
const migrationLockTimeoutMs = 400;

/** Connects as the owner, for migrations and schema checks. */
export function createOwnerDataSource(url: string, chosen = migrations): DataSource {
  return new DataSource({
    ...buildCommonOptions(url),
    migrations: chosen,
    applicationName: 'muster-migrate',
    poolSize: 2,
    connectTimeoutMS: 5000,
    extra: { options: `-c lock_timeout=${migrationLockTimeoutMs}` },
  });
}

function buildCommonOptions(url: string) {
  return {
    type: 'postgres' as const,
    url,
    entities,
    migrations,
    migrationsTableName: 'schema_migration',
    migrationsTransactionMode: 'each' as const,
    namingStrategy: new SnakeCase(),
    synchronize: false,
    installExtensions: false,
    logging: false,
  };
}
