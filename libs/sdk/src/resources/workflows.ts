import {
  type CreateWorkflowBody,
  type SaveWorkflowBody,
  type UpdateWorkflowBody,
  type Workflow,
  type WorkflowList,
  type WorkflowRevision,
  type WorkflowRevisionList,
  workflowsArchive,
  workflowsCreate,
  workflowsDiff,
  workflowsList,
  workflowsRead,
  workflowsRestore,
  workflowsRevisions,
  workflowsSave,
  workflowsUpdate,
  type WorkflowSummary,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Workflows. Every change of the script, the steps or the variables creates a revision. */
export class Workflows extends Resource {
  list(query: { q?: string; limit?: number } = {}, call?: CallOptions): List<WorkflowSummary, WorkflowList> {
    return new List(
      (page) => workflowsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ workflows }) => workflows,
    );
  }

  get(id: string, call?: CallOptions): Promise<Workflow> {
    return workflowsRead({ ...this.with(call), path: { id } });
  }

  create(body: CreateWorkflowBody, call?: CallOptions): Promise<Workflow> {
    return workflowsCreate({ ...this.with(call), body });
  }

  /** Saves the script, steps or variables as a new revision. */
  save(id: string, body: SaveWorkflowBody, call?: CallOptions) {
    return workflowsSave({ ...this.with(call), path: { id }, body });
  }

  /** Updates the name and other fields that do not belong to a revision. */
  update(id: string, body: UpdateWorkflowBody, call?: CallOptions) {
    return workflowsUpdate({ ...this.with(call), path: { id }, body });
  }

  archive(id: string, call?: CallOptions) {
    return workflowsArchive({ ...this.with(call), path: { id } });
  }

  revisions(id: string, call?: CallOptions): List<WorkflowRevision, WorkflowRevisionList> {
    return new List(
      (page) => workflowsRevisions({ ...this.with(call), path: { id }, query: page }),
      ({ revisions }) => revisions,
    );
  }

  /** Compares a revision with another, by default with the revision before it. */
  diff(id: string, revision: number, against?: number, call?: CallOptions) {
    const query = against === undefined ? {} : { against };
    return workflowsDiff({ ...this.with(call), path: { id, revision: String(revision) }, query });
  }

  restore(id: string, revision: number, call?: CallOptions) {
    return workflowsRestore({ ...this.with(call), path: { id, revision: String(revision) } });
  }
}
