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

/** Many runs of one workflow, one for each row of a table. */
export class Batches extends Resource {
  create(body: CreateBatchBody, call?: CallOptions): Promise<CreatedBatch> {
    return batchesCreate({ ...this.with(call), body });
  }

  /** What is wrong with each row, before anything is queued; where it is to run may be left out. */
  check(body: CheckBatchBody, call?: CallOptions): Promise<CheckedBatch> {
    return batchesCheck({ ...this.with(call), body });
  }

  /** The same of a table with a head, whose columns are the workflow's variables unless `mapping` says otherwise. */
  createFromCsv(csv: Blob | string, body: Omit<CreateBatchBody, 'rows'>, call?: CallOptions): Promise<CreatedBatch> {
    const file = csv instanceof Blob ? csv : new Blob([csv], { type: 'text/csv' });
    const fields = Object.entries(body).filter(([, value]) => value !== undefined);
    const texts = fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
    const { headers, ...options } = this.with(call);
    return batchesCreate({
      ...options,
      ...formDataBodySerializer,
      // The document describes the JSON that the same path takes.
      body: { ...Object.fromEntries(texts), file: new File([file], 'rows.csv', { type: 'text/csv' }) } as never,
      // Whoever sends it names the type itself, with the boundary between the parts.
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
