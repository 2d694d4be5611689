import type { AutopilotTask, SessionAction } from '@muster/contracts';
import type { FakeModel, FakePortal } from '@muster/testing';

/** A task that signs in at the fake portal, fills its form and sends it. */
export function buildPortalTask(title: string, { url }: FakePortal): AutopilotTask {
  const buildStep = (id: string, instruction: string, expect?: AutopilotTask['steps'][number]['expect']) => ({
    ...{ id, title: id, instruction, kind: 'browse' as const },
    ...(expect ? { expect } : {}),
  });
  return {
    ...{ title, goal: 'File the claim.', startUrl: `${url}/login`, inputs: ['PORTAL_USER', 'CLAIM_ID'] },
    steps: [
      buildStep('sign-in', 'Sign in as {{PORTAL_USER}} with {{PORTAL_PASSWORD}}.', { url: '/claims' }),
      buildStep('form', 'Fill the form of {{CLAIM_ID}}.', { url: '/submit' }),
      buildStep('send', 'Send it.', { url: '/confirmation', text: 'was received' }),
    ],
    success: { description: 'the claim was received', check: { text: 'Reference' } },
  };
}

/** Makes the model answer each step of `buildPortalTask` with the right actions. */
export function scriptPortalAnswers(model: FakeModel): void {
  model.addRule(({ lastUserText }) => {
    const { step } = JSON.parse(lastUserText) as { step: { id: string } };
    return { json: { status: 'act', reason: '', question: '', confidence: 1, actions: actions[step.id]! } };
  });
}

function buildAction(
  name: SessionAction['action'],
  selector: string,
  more: Partial<SessionAction> = {},
): SessionAction {
  const selectors = selector ? [{ kind: 'role' as const, selector }] : [];
  return { action: name, name: selector, selectors, value: '', all: false, submits: false, ...more };
}

const actions: Record<string, SessionAction[]> = {
  'sign-in': [
    buildAction('fill', 'aria/User name[role="textbox"]', { value: '{{PORTAL_USER}}' }),
    buildAction('fill', 'aria/Password[role="textbox"]', { value: '{{PORTAL_PASSWORD}}' }),
    buildAction('click', 'aria/Sign in[role="button"]'),
  ],
  form: [
    buildAction('navigate', '', { value: '/submit?claim={{CLAIM_ID}}' }),
    buildAction('fill', 'aria/Amount[role="textbox"]', { value: '120.00' }),
  ],
  send: [buildAction('click', 'aria/Submit claim[role="button"]', { submits: true })],
};
