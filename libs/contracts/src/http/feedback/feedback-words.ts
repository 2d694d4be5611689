export const feedbackTypes = ['feature_request', 'bug_report', 'workflow_issue_report'] as const;
export type FeedbackType = (typeof feedbackTypes)[number];

export const feedbackStatuses = ['received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected'] as const;
export type FeedbackStatus = (typeof feedbackStatuses)[number];

export const feedbackSeverities = ['low', 'medium', 'high', 'critical'] as const;
export type FeedbackSeverity = (typeof feedbackSeverities)[number];

/** External products in which work on feedback is tracked: one for code, one for tasks. */
export const trackerNames = ['codehost', 'tasktracker'] as const;
export type TrackerName = (typeof trackerNames)[number];

/** Sources of a status change. */
export const feedbackSources = ['user', ...trackerNames] as const;
export type FeedbackSource = (typeof feedbackSources)[number];
