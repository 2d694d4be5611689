/** What the generated client names of the web, where TypeScript has Node's types alone. */
type BodyInit = NonNullable<RequestInit['body']>;
