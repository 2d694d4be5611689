import type { AutopilotSession, SessionPause } from '../../api/generated';

export function isSessionOver(status: AutopilotSession['status']): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Title and hint for each reason for which a session pauses. */
export const pauseWords: Record<SessionPause['reason'], { title: string; hint: string }> = {
  attempts_exhausted: {
    title: 'All attempts at this step have failed',
    hint: 'Write a different instruction, provide code for the step, or skip the step.',
  },
  one_time_code: {
    title: 'The page asks for a one-time code',
    hint: 'Enter the code, or write an instruction with the code, such as: Enter the code 123456 and continue.',
  },
  captcha: {
    title: 'The page shows a captcha',
    hint: 'Solve the captcha on the machine itself and then resume, or skip the step.',
  },
  before_submit: {
    title: 'The next action submits data',
    hint: 'Check the screenshot. “Resume” submits the data; this cannot be undone.',
  },
  unsure: {
    title: 'The autopilot is not sure what to do',
    hint: 'Write the answer to the question as an instruction.',
  },
  outcome_unknown: {
    title: 'It is unknown whether the data was submitted',
    hint: 'Check in the portal whether the data was submitted. If it was, skip the step. If not, resume.',
  },
};
