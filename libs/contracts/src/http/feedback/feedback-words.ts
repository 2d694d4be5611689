export const feedbackTypes = ['feature_request', 'bug_report', 'workflow_issue_report'] as const;
export type FeedbackType = (typeof feedbackTypes)[number];

export const feedbackStatuses = ['received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected'] as const;
export type FeedbackStatus = (typeof feedbackStatuses)[number];

export const feedbackSeverities = ['low', 'medium', 'high', 'critical'] as const;
export type FeedbackSeverity = (typeof feedbackSeverities)[number];

/** Where work on feedback is followed: one product for code, one for tasks. */
export const trackerNames = ['codehost', 'tasktracker'] as const;
export type TrackerName = (typeof trackerNames)[number];

/** Who moved a submission's status. */
export const feedbackSources = ['user', ...trackerNames] as const;
export type FeedbackSource = (typeof feedbackSources)[number];
