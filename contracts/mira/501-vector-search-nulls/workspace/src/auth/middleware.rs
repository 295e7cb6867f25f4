/// Authentication middleware: rejects a request that has no valid bearer token.
pub fn authenticate(request: &Request) -> Result<User, Unauthorized> {
    let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    token.and_then(find_user).ok_or(Unauthorized)
}
