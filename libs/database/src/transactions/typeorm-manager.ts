import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';

/** Returns a TypeORM manager for our connection, in a transaction that our code starts and ends. */
export function createTypeOrmManager(dataSource: DataSource, client: PoolClient): EntityManager {
  const runner = dataSource.createQueryRunner();
  // Puts the query runner into the state that its connect() and startTransaction() would leave, because the transaction
  // was already started on this client.
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
  return runner.manager;
}
