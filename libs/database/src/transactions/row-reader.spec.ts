import { getDataSourceToken } from '@nestjs/typeorm';
import { BaseConfig } from '@muster/platform';
import { type Harness, startHarness } from '@muster/testing';
import type { DataSource } from 'typeorm';
import { DatabaseModule } from '../database.module';
import { RowReader } from './row-reader';

describe('rows', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the columns of a returned row have the names of the entity’s properties', () => {
    const metadatas = harness.app.nest.get<DataSource>(getDataSourceToken()).entityMetadatas;
    expect(metadatas.length).toBeGreaterThan(30);
    for (const { tableName, columns } of metadatas) {
      const reader = new RowReader(columns.map(({ databaseName: name }) => ({ name, dataTypeID: 25 })));
      const named = Object.keys(reader.readRow([]));
      expect({ tableName, named }).toEqual({ tableName, named: columns.map(({ propertyName }) => propertyName) });
    }
  });

  it('the columns of a row have the same names with every query method and on every call', async () => {
    const sql = `SELECT 1 AS max_retries, NULL::text AS a_b_c, '{"not_a_column": 1}'::jsonb AS some_data`;
    const row = { maxRetries: 1, aBC: null, someData: { not_a_column: 1 } };
    for (let i = 0; i < 3; i += 1) {
      expect(await harness.db.query('system', sql)).toEqual([row]);
      expect(await harness.db.query('system', sql, [], 'named')).toEqual([row]);
      expect(await harness.db.queryUnflushed('system', sql, [], 'named')).toEqual([row]);
      expect(await harness.db.transaction('system', (tx) => tx.query(sql, [], 'named'))).toEqual([row]);
    }
  });
});
