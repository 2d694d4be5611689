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
import { ConcurrencyKey } from '../jobs/concurrency-keys';
import { installation, maxCost } from '../jobs/jobs';
import { PageQuery } from '../pages';

const name = { max: 200, visible: true, example: 'Download EOBs' };
const description = { min: 0, max: 10_000, example: 'Signs in to the portal and downloads what is new.' };
const concurrencyKeys = {
  maxItems: 5,
  description:
    'Each run of it starts when each of these has room, and holds them until it ends; a launch may add to them.',
};
const variables = { max: 128, maxItems: 200, example: ['CLAIM_ID'], description: 'The names that a run must give.' };
const script = {
  min: 0,
  max: 1_000_000,
  example: "import os\n\nprint('claim', os.environ['CLAIM_ID'])\n",
  description: 'Python. It runs on the agent as it is.',
};
const steps = {
  maxItems: 2000,
  example: [{ id: 'open', type: 'navigate', url: 'https://example.com' }],
  description:
    'Each with an id of its own, a type, and what its type needs. A workflow without a script runs them: goto ' +
    '(navigate) {url}, click, doubleClick, hover, fill (change, type) {value}, select {value}, press (keyDown, keyUp) ' +
    '{key}, scroll {x, y}, upload {path, within the run root}, wait {ms}, waitForElement, waitForExpression ' +
    '{expression}, extract {as: its name in the result, and {{as}} later}, screenshot {name}, python {code}, ' +
    'setViewport, emulateNetworkConditions, close. An element is named by selector (CSS, xpath/…, text/…, aria/…), by ' +
    'selectors as the DevTools Recorder writes them, by field (a form field’s label, name or placeholder), or by text. ' +
    '{{NAME}} in a text is the variable or vault key of that name. A step of another type is kept and warned of.',
};

export class WorkflowSource {
  @EnumField(['video']) kind!: 'video';
  @UuidField({ nullable: true, description: 'Null: a film that somebody sent.' }) recordingId!: string | null;
}

export class ConfirmStepBody {
  @EnumField(['confirmed']) review!: 'confirmed';
}

export class WorkflowWarning {
  @TextField({ nullable: true, max: 200, example: 'open', description: 'Null: it is about the workflow.' })
  stepId!: string | null;
  @TextField({ max: 500, example: 'a run cannot do a step of the type swipe, and fails when it comes to it' })
  message!: string;
}

export class Workflow {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @UuidField({ ...installation, nullable: true }) workflowPackInstallationId!: string | null;
  @ListField(() => ConcurrencyKey, concurrencyKeys) concurrencyKeys!: ConcurrencyKey[];
  @TextListField(variables) variables!: string[];
  @TextField(script) script!: string;
  @JsonListField(steps) steps!: Record<string, unknown>[];
  @ObjectField(() => WorkflowSource, {
    nullable: true,
    description:
      'What a draft was made of. Its steps say with what confidence, atMs, frameUrl, and review: needed, confirmed or null.',
  })
  source!: WorkflowSource | null;
  @IntField({ min: 1, example: 3 }) revision!: number;
  @ListField(() => WorkflowWarning, {
    maxItems: 10_000,
    description: 'What is likely not meant, or no run can do.',
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
  @TextField({ optional: true, max: 200, description: 'Part of the name, in any case.' }) q?: string;
  @EnumField(workflowSorts, {
    optional: true,
    example: 'createdAt',
    description: 'With - the greatest first; createdAt when absent. What has no value comes last.',
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
    description: 'A recording of Chrome’s DevTools Recorder as JSON, or a zip of one with its screenshots.',
  })
  recording?: string;

  @UuidField({ optional: true, description: 'In its place: a recording of a machine’s browser.' }) recordingId?: string;
  @TextField({ ...name, optional: true, description: 'The recording’s title when absent.' }) name?: string;
}

export class UploadWorkflowBody {
  @UuidField({ description: 'A recording of a machine’s browser that is kept.' }) recordingId!: string;
  @TextField({ ...name, optional: true, description: 'The recording’s name when absent.' }) name?: string;
}

export class RevisionDiffQuery {
  @QueryIntField({ optional: true, min: 1, description: 'The revision before it when absent.' }) against?: number;
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
  @JsonListField({ ...steps, description: 'Steps that only the later revision has.' }) added!: Record<
    string,
    unknown
  >[];
  @JsonListField({ ...steps, description: 'Steps that only the other revision has.' }) removed!: Record<
    string,
    unknown
  >[];
  @ListField(() => ChangedStep, { maxItems: 2000 }) changed!: ChangedStep[];
  @TextListField({ maxItems: 2000, example: ['open'], description: 'Ids of steps that stand elsewhere.' })
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
    description: 'The script’s difference as `diff -u` shows it; empty where there is none.',
  })
  script!: string;
  @ObjectField(() => StepsDiff) steps!: StepsDiff;
  @ObjectField(() => VariablesDiff) variables!: VariablesDiff;
}
