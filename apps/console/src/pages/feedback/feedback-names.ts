import type { FeedbackType } from '@muster/contracts/words';

/** Labels of the types of reports. */
export const typeNames: Record<FeedbackType, string> = {
  bug_report: 'Bug',
  feature_request: 'Feature',
  workflow_issue_report: 'Workflow issue',
};
