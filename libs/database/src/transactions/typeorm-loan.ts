import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';

/** TypeORM's manager on a connection of ours, in a transaction that we have begun and shall end. */
export function lendToTypeOrm(dataSource: DataSource, client: PoolClient): EntityManager {
  const runner = dataSource.createQueryRunner();
  // What its own connect() and startTransaction() would leave behind.
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
  return runner.manager;
}
