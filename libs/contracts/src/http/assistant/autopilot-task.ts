import { EnumField, ListField, ObjectField, TextField, TextListField } from '../fields';
import { type TaskStepKind, taskStepKinds } from './autopilot-words';

const said = { optional: true, max: 2000 };

/** What must hold of the page; no model is asked. */
export class TaskExpectation {
  @TextField({ ...said, description: 'The address contains it.', example: '/claims/' }) url?: string;
  @TextField({ ...said, description: 'The visible text contains it, white space folded.', example: 'Claim received' })
  text?: string;
  @TextField({ ...said, description: 'The visible text does not contain it.' }) notText?: string;
  @TextField({ ...said, description: 'Something visible fits it.', example: 'aria/Sign out' }) selector?: string;
}

export class TaskStep {
  @TextField({ max: 100, example: 'sign-in' }) id!: string;
  @TextField({ max: 200, example: 'Sign in' }) title!: string;
  @TextField({ max: 4000, example: 'Sign in with {{USER}} and {{PORTAL_PASSWORD}}.' }) instruction!: string;
  @ObjectField(() => TaskExpectation, { optional: true, nullable: true }) expect?: TaskExpectation | null;
  @EnumField(taskStepKinds) kind!: TaskStepKind;
}

export class TaskSuccess {
  @TextField({ min: 0, max: 2000, example: 'The portal shows a confirmation number.' }) description!: string;
  @ObjectField(() => TaskExpectation, { optional: true, nullable: true }) check?: TaskExpectation | null;
}

export class AutopilotTask {
  @TextField({ max: 200, example: 'File a claim' }) title!: string;
  @TextField({ max: 4000, example: 'File the claim CLAIM_ID at the portal.' }) goal!: string;
  @TextField({
    optional: true,
    nullable: true,
    max: 2048,
    format: 'uri',
    pattern: /^https?:\/\/[^\s/]\S*$/i,
    description: 'Opened first. Its site is where the session may go.',
    example: 'https://portal.example.com/',
  })
  startUrl?: string | null;
  @TextListField({ maxItems: 100, max: 100, description: 'Names of what differs from run to run.' })
  inputs!: string[];
  @ListField(() => TaskStep, { minItems: 1, maxItems: 200 }) steps!: TaskStep[];
  @ObjectField(() => TaskSuccess) success!: TaskSuccess;
}
