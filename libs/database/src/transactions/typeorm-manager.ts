import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';

/** Returns a TypeORM manager for our connection, in a transaction that our code starts and ends. */
export function typeOrmManager(dataSource: DataSource, client: PoolClient): EntityManager {
  const runner = dataSource.createQueryRunner();
  // The state after its own connect() and startTransaction().
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
  return runner.manager;
}
