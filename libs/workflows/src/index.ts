export { archiveWorkflow, updateWorkflow } from './change-workflow';
export { createWorkflow } from './create-workflow';
export { listWorkflows, type WorkflowSummaryRow } from './list-workflows';
export { saveWorkflow } from './save-workflow';
export { listRevisions, restoreRevision, type RevisionRow } from './workflow-revisions';
export { findWorkflow, noSuchWorkflow, type WorkflowRow } from './workflow-row';
