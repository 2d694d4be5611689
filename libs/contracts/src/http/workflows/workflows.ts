import {
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  JsonListField,
  ListField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  UsdField,
  UuidField,
} from '../fields';
import { AccountRequest, requestedAccounts } from '../jobs/accounts';
import { ConcurrencyKey } from '../jobs/concurrency-keys';
import { installation, maxCost } from '../jobs/jobs';
import { PageQuery } from '../pages';

const name = { max: 200, visible: true, example: 'Download EOBs' };
const description = { min: 0, max: 10_000, example: 'Signs in to the portal and downloads what is new.' };
const concurrencyKeys = {
  maxItems: 5,
  description:
    'Concurrency keys that each run of the workflow requires. A run starts when every key is below its limit, and ' +
    'holds the keys until it ends. A launch can add further keys.',
};
const variables = {
  max: 128,
  maxItems: 200,
  example: ['CLAIM_ID'],
  description: 'Names of the variables of the workflow. Each run needs a value for every variable.',
};
const sensitiveVariables = {
  max: 128,
  maxItems: 200,
  example: [],
  description:
    'Variables whose values may be about a patient. They are stored encrypted, and only callers with the permission ' +
    'runs.screens see them. They are never part of webhooks, exports, searches or messages to a model.',
};
const sensitiveResults = {
  max: 200,
  maxItems: 200,
  example: [],
  description:
    'Top-level names of the result whose values are treated like sensitive variables. A value under another name is ' +
    'treated so too if it contains the value of a sensitive variable of the run.',
};
const script = {
  min: 0,
  max: 1_000_000,
  example: "import os\n\nprint('claim', os.environ['CLAIM_ID'])\n",
  description: 'Python script, which runs unchanged on the agent.',
};
const steps = {
  maxItems: 2000,
  example: [{ id: 'open', type: 'navigate', url: 'https://example.com' }],
  description:
    'Browser steps, which run if the workflow has no script. Each step has a unique id, a type, and the fields of ' +
    'its type. Types: goto (navigate) {url}, click, doubleClick, hover, fill (change, type) {value}, select {value}, ' +
    'press (keyDown, keyUp) {key}, scroll {x, y}, upload {path, within the run root}, wait {ms}, waitForElement, ' +
    'waitForExpression {expression}, extract {as: name of the value in the result and, as {{as}}, in later steps}, ' +
    'screenshot {name}, python {code}, ask {question}, setViewport, emulateNetworkConditions, close. A step of ' +
    'another type is saved with a warning. A step identifies its element by selector (CSS, xpath/…, text/…, aria/…), ' +
    'by selectors in the format of the Chrome DevTools Recorder, by field (a form field’s label, name or ' +
    'placeholder), or by text. {{NAME}} in a text is replaced by the value of the variable or vault key NAME.',
};

export class WorkflowSource {
  @EnumField(['video']) kind!: 'video';
  @UuidField({
    nullable: true,
    description: 'Recording that the draft was made from; null if it was made from an uploaded video.',
  })
  recordingId!: string | null;
}

export class ConfirmStepBody {
  @EnumField(['confirmed']) review!: 'confirmed';
}

export class WorkflowWarning {
  @TextField({
    nullable: true,
    max: 200,
    example: 'open',
    description: 'Step that the warning is about; null if it is about the whole workflow.',
  })
  stepId!: string | null;
  @TextField({ max: 500, example: 'a run cannot do a step of the type swipe, and fails at that step' })
  message!: string;
}

export class Workflow {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @UuidField({ ...installation, nullable: true }) workflowPackInstallationId!: string | null;
  @ListField(() => ConcurrencyKey, concurrencyKeys) concurrencyKeys!: ConcurrencyKey[];
  @ListField(() => AccountRequest, requestedAccounts) accounts!: AccountRequest[];
  @TextListField(sensitiveVariables) sensitiveVariables!: string[];
  @TextListField(sensitiveResults) sensitiveResults!: string[];
  @TextListField(variables) variables!: string[];
  @TextField(script) script!: string;
  @JsonListField(steps) steps!: Record<string, unknown>[];
  @ObjectField(() => WorkflowSource, {
    nullable: true,
    description:
      'Video from which the draft was made; null if the workflow is not a draft. Each step of a draft also has ' +
      '`confidence`, `atMs` (its time in the video), `frameUrl` and `review` (`needed`, `confirmed` or null).',
  })
  source!: WorkflowSource | null;
  @IntField({ min: 1, example: 3 }) revision!: number;
  @ListField(() => WorkflowWarning, {
    maxItems: 10_000,
    description: 'Likely mistakes in the workflow, and steps that no run can perform.',
  })
  warnings!: WorkflowWarning[];
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WorkflowSummary {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @UuidField({ ...installation, nullable: true }) workflowPackInstallationId!: string | null;
  @TextListField(variables) variables!: string[];
  @IntField({ min: 1, example: 3 }) revision!: number;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WorkflowList {
  @ListField(() => WorkflowSummary) workflows!: WorkflowSummary[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const workflowSorts = ['name', '-name', 'updatedAt', '-updatedAt', 'createdAt', '-createdAt'] as const;
export type WorkflowSort = (typeof workflowSorts)[number];

export class WorkflowQuery extends PageQuery {
  @TextField({ optional: true, max: 200, description: 'Part of the workflow’s name; case is ignored.' }) q?: string;
  @EnumField(workflowSorts, {
    optional: true,
    example: 'createdAt',
    description: 'Sort field; a leading `-` sorts in descending order. Defaults to createdAt.',
  })
  sort?: WorkflowSort;
}

export class CreateWorkflowBody {
  @TextField(name) name!: string;
  @TextField({ ...description, optional: true }) description?: string;
  @TextListField({ ...variables, optional: true }) variables?: string[];
  @TextField({ ...script, optional: true }) script?: string;
  @JsonListField({ ...steps, optional: true }) steps?: Record<string, unknown>[];
  @UsdField({ ...maxCost, optional: true, nullable: true }) maxCostUsd?: number | null;
  @UuidField({ ...installation, optional: true, nullable: true }) workflowPackInstallationId?: string | null;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
  @ListField(() => AccountRequest, { ...requestedAccounts, optional: true }) accounts?: AccountRequest[];
  @TextListField({ ...sensitiveVariables, optional: true }) sensitiveVariables?: string[];
  @TextListField({ ...sensitiveResults, optional: true }) sensitiveResults?: string[];
}

export class SaveWorkflowBody {
  @TextField({ ...script, optional: true }) script?: string;
  @JsonListField({ ...steps, optional: true }) steps?: Record<string, unknown>[];
  @TextListField({ ...variables, optional: true }) variables?: string[];
}

export class UpdateWorkflowBody {
  @TextField({ ...name, optional: true }) name?: string;
  @TextField({ ...description, optional: true }) description?: string;
  @UsdField({ ...maxCost, optional: true, nullable: true }) maxCostUsd?: number | null;
  @UuidField({ ...installation, optional: true, nullable: true }) workflowPackInstallationId?: string | null;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
  @ListField(() => AccountRequest, { ...requestedAccounts, optional: true }) accounts?: AccountRequest[];
  @TextListField({ ...sensitiveVariables, optional: true }) sensitiveVariables?: string[];
  @TextListField({ ...sensitiveResults, optional: true }) sensitiveResults?: string[];
}

export class WorkflowRevision {
  @IntField({ min: 1, example: 3 }) revision!: number;
  @TextListField(variables) variables!: string[];
  @TextField(script) script!: string;
  @JsonListField(steps) steps!: Record<string, unknown>[];
  @IntField({ min: 1, nullable: true, example: 1 }) restoredFrom!: number | null;
  @TextField({ example: 'dana@example.com' }) savedBy!: string;
  @DateTimeField() createdAt!: string;
}

export class WorkflowRevisionList {
  @ListField(() => WorkflowRevision) revisions!: WorkflowRevision[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class UploadWorkflowForm {
  @TextField({
    optional: true,
    format: 'binary',
    description: 'Recording of the Chrome DevTools Recorder as a JSON file, or as a zip file with its screenshots.',
  })
  recording?: string;

  @UuidField({ optional: true, description: 'Recording of an agent’s browser, to be used instead of a file.' })
  recordingId?: string;
  @TextField({ ...name, optional: true, description: 'Name of the workflow; defaults to the recording’s title.' })
  name?: string;
}

export class UploadWorkflowBody {
  @UuidField({ description: 'Recording of an agent’s browser. The status of the recording must be `kept`.' })
  recordingId!: string;
  @TextField({ ...name, optional: true, description: 'Name of the workflow; defaults to the recording’s name.' })
  name?: string;
}

export class RevisionDiffQuery {
  @QueryIntField({
    optional: true,
    min: 1,
    description: 'Revision to compare with; defaults to the previous revision.',
  })
  against?: number;
}

export class ChangedStep {
  @TextField({ example: 'open' }) id!: string;
  @JsonField({ example: { id: 'open', type: 'navigate', url: 'https://example.com' } }) before!: Record<
    string,
    unknown
  >;
  @JsonField({ example: { id: 'open', type: 'navigate', url: 'https://example.org' } }) after!: Record<string, unknown>;
}

export class StepsDiff {
  @JsonListField({ ...steps, description: 'Steps that exist only in `revision`.' }) added!: Record<string, unknown>[];
  @JsonListField({ ...steps, description: 'Steps that exist only in `against`.' }) removed!: Record<string, unknown>[];
  @ListField(() => ChangedStep, { maxItems: 2000 }) changed!: ChangedStep[];
  @TextListField({ maxItems: 2000, example: ['open'], description: 'Ids of the steps whose position changed.' })
  moved!: string[];
}

export class VariablesDiff {
  @TextListField({ max: 128, maxItems: 200, example: ['CLAIM_ID'] }) added!: string[];
  @TextListField({ max: 128, maxItems: 200, example: ['PAYER'] }) removed!: string[];
}

export class RevisionDiff {
  @IntField({ min: 1, example: 3 }) revision!: number;
  @IntField({ min: 1, example: 2 }) against!: number;
  @TextField({
    min: 0,
    max: 4_000_000,
    example: '--- revision 2\n+++ revision 3\n@@ -1,1 +1,1 @@\n-print(1)\n+print(2)\n',
    description: 'Difference between the scripts in the format of `diff -u`; empty if the scripts are equal.',
  })
  script!: string;
  @ObjectField(() => StepsDiff) steps!: StepsDiff;
  @ObjectField(() => VariablesDiff) variables!: VariablesDiff;
}
