import { EnumField, ListField, ObjectField, TextField, TextListField } from '../fields';
import { type TaskStepKind, taskStepKinds } from './autopilot-words';

const textOptions = { optional: true, max: 2000 };

/** Conditions that the page must meet, all of them. They are checked without a model. */
export class TaskExpectation {
  @TextField({ ...textOptions, description: 'Text that the address of the page must contain.', example: '/claims/' })
  url?: string;
  @TextField({
    ...textOptions,
    description: 'Text that must be visible on the page. Several consecutive spaces or line breaks count as one space.',
    example: 'Claim received',
  })
  text?: string;
  @TextField({ ...textOptions, description: 'Text that must not be visible on the page.' }) notText?: string;
  @TextField({ ...textOptions, description: 'Selector that must match a visible element.', example: 'aria/Sign out' })
  selector?: string;
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
    description: 'Address that is opened first. The session can only open pages of the same origin.',
    example: 'https://portal.example.com/',
  })
  startUrl?: string | null;
  @TextListField({
    maxItems: 100,
    max: 100,
    description: 'Names of the input values of the task, which differ from run to run.',
  })
  inputs!: string[];
  @ListField(() => TaskStep, { minItems: 1, maxItems: 200 }) steps!: TaskStep[];
  @ObjectField(() => TaskSuccess) success!: TaskSuccess;
}
