/** A web type that the generated client uses, for compilation with only the types of Node. */
type BodyInit = NonNullable<RequestInit['body']>;
