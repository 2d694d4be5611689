import {
  type Batch,
  batchesCancel,
  batchesCheck,
  batchesCreate,
  batchesList,
  type BatchList,
  batchesRead,
  type CheckBatchBody,
  type CheckedBatch,
  type CreateBatchBody,
  type CreatedBatch,
} from '../generated';
import { formDataBodySerializer } from '../generated/client';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Batches: many runs of one workflow, one for each row of a table. */
export class Batches extends Resource {
  create(body: CreateBatchBody, call?: CallOptions): Promise<CreatedBatch> {
    return batchesCreate({ ...this.with(call), body });
  }

  /** Validates each row without queueing runs. The agents can be omitted. */
  check(body: CheckBatchBody, call?: CallOptions): Promise<CheckedBatch> {
    return batchesCheck({ ...this.with(call), body });
  }

  /**
   * Creates a batch from CSV with a header row. Each variable of the workflow is read from the column with its name,
   * unless `mapping` specifies another column.
   */
  createFromCsv(csv: Blob | string, body: Omit<CreateBatchBody, 'rows'>, call?: CallOptions): Promise<CreatedBatch> {
    const file = csv instanceof Blob ? csv : new Blob([csv], { type: 'text/csv' });
    const fields = Object.entries(body).filter(([, value]) => value !== undefined);
    const texts = fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
    const { headers, ...options } = this.with(call);
    return batchesCreate({
      ...options,
      ...formDataBodySerializer,
      // The cast is needed because the OpenAPI document describes only the JSON body of this path.
      body: { ...Object.fromEntries(texts), file: new File([file], 'rows.csv', { type: 'text/csv' }) } as never,
      // The content type is removed, because `fetch` sets it with the boundary of the form.
      headers: { ...headers, 'Content-Type': null },
    });
  }

  get(id: string, call?: CallOptions): Promise<Batch> {
    return batchesRead({ ...this.with(call), path: { id } });
  }

  list(query: { workflowId?: string; limit?: number } = {}, call?: CallOptions): List<Batch, BatchList> {
    return new List(
      (page) => batchesList({ ...this.with(call), query: { ...query, ...page } }),
      ({ batches }) => batches,
    );
  }

  cancel(id: string, reason?: string, call?: CallOptions) {
    return batchesCancel({ ...this.with(call), path: { id }, body: reason === undefined ? {} : { reason } });
  }
}
